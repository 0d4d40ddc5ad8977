import Testing

@testable import Products

/// Which texts are taken for positions.
@Suite struct LocationTextTests {
    @Test(arguments: [
        "+48.1370+011.5750/", "at -33.8688+151.2093 now", "$GPRMC,120000", "$GNGGA,1", "exif:GPSLatitude=1",
        "{\"latitude\":47.1,\"longitude\":8.7}", "{\"GPSLat\":\"47.1\"}", "{\"LATITUDE\" : -47}", "{\\\"lat\\\":47}",
        "lat=47.1;lon=8.7", "gps_lat = 47.1", "{\"type\":\"Point\",\"coordinates\":[8.7,47.1]}", "{'lng': 8}",
        "homeLat=47.1", "{\"take_off_lon\":8}", "<a:LRFTargetLat>47.123</a:LRFTargetLat>", "<coordinates>8.7,47.1,0<",
    ])
    func devicesWritePositionsThatAreFoundEverywhere(_ text: String) {
        #expect(PositionText.isFound(in: text.utf8))
    }

    /// Texts that people write stay.
    @Test(arguments: [
        "+49-171-1234567", "48.137154, 11.576124", "geo:48.1,11.5", "N48.137154 E11.576124", "",
        "Latitude: 47.1", "lat=5", "flat=5.5", "{\"flat\":5.5}", "{\"platitude\":3}", "long=12.5",
        "{\"coordinates\":[120,33]}", "{\"lat\":null}", "=", ":1", "\":1", "latency=5.5", "{\"isolatedLateral\":5}",
    ])
    func otherTextsAreNone(_ text: String) {
        #expect(!PositionText.isFound(in: text.utf8))
    }

    @Test(arguments: [
        "GPS(11.5755,48.1375,520)", "[latitude: 48.1] [longitude: 11.5]", "48°08'13\"N", "N 48° 08.2'", "lat=48",
        "GPS_LAT:4",
        "F/2.8, SS 100, 48.137154 11.576124", "47,123456 8,654321", "lat 47.123456 lon 8.654321",
        "N47 07 24 E008 39 15", "N 47 7' 24.4''", "47:07:24.44N", "47.123° 8.654°", "N:47.123456 E:8.654321",
        "long: -8.65", "HOME(8.6543,47.1234)", "{\"Latitude\": 48.1370, \"Longitude\": 11.5750}",
        "{lat:48.1370,lon:11.5750}",
        "A,270519,201555.000,4808.2200,N,01134.5000,E,000.0", "Latitud: 48.1370 Longitud: 11.5750",
        "纬度 48.1370 经度 11.5750", "LAT 48137000 LON 11575000",
        "N48°51.502 E002°17.669", "N 48 51.502 E 002 17.669", "N4851.5022 E00217.6689", "4851.5022N 00217.6689E",
        "N:4851.5022", "A4851.5022N00217.6689E", "4851.5022,00217.6689", "Lat 48.13 Lon 11.57",
        "Lat: 48.13, Lng: -11.57",
    ])
    func subtitlesOfDevicesAreTelemetry(_ text: String) {
        #expect(PositionText.isTelemetry(Array(text.utf8)))
    }

    @Test(arguments: [
        "Hello", "It is 25 °C at 12.50", "{\\pos(12.345,67.891)}Hello", "The GPS is lost", "at 10.30",
        "It took 2 long years, 1,000,000 people and 1,000 more", "Our GPS says 5 more miles.", "Pi is 3.14159.",
        "At 20° 5 people", "A long way, 12.345 miles", "12.345 miles and 4.567 yards", "from 12:30:15 to 12:45:10",
        "S 12", "He ran it in 12.345 s", "Call 1234.5678", "A long 1.50 long 2.50", "da 9.30 e 10 11.30",
        "begin=\"00:00:01.000\" end=\"00:00:02.500\"", "",
    ])
    func subtitlesOfFilmsAreNot(_ text: String) {
        #expect(!PositionText.isTelemetry(Array(text.utf8)))
    }

    /// Each mark was once compared with all that follow, which took hours.
    @Test(arguments: ["!", "lat!", "1.23", "{", "48:08:", "a "]) func longTextsAreReadInLinearTime(_ piece: String) {
        let text = Array(String(repeating: piece, count: 200_000 / piece.utf8.count).utf8)
        let time = ContinuousClock().measure { #expect(!PositionText.isTelemetry(text)) }
        #expect(time < .seconds(20))
    }

    @Test(arguments: [false, true], [[], [0, 60]] as [[UInt8]])
    func subtitlesInUTF16AreRead(isBig: Bool, length: [UInt8]) {
        let units = Array("\u{FEFF}lat 47.123456 lon 8.654321".utf16)
        let bytes = units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        let swapped = units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        #expect(PositionText.isTelemetry(length + (isBig ? bytes : swapped)))
        #expect(
            !PositionText.isTelemetry(
                length + Array("\u{FEFF}It is 12.50".utf16).flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }))
    }

    @Test(arguments: [
        ("EXIF:ExifIFD", "LensInfo", "24.123 70.456 2.8 2.8", false),
        ("XMP:XMP-crs", "Dabs", "d 12.1234 0.5678", false),
        ("File", "Comment", "48.1375, 11.5755", false), ("File", "Comment", "+48.1375+011.5755/", true),
        ("XMP:XMP-foo", "Lat", "48.1375", true), ("XMP:XMP-foo", "Place", "48.1375 11.5755", false),
        ("XMP:XMP-my", "Position", "48.1370, 11.5750", true), ("XMP:XMP-my", "WherePointPos", "48.1370 11.5750", true),
        ("XMP:XMP-my", "Data", "{\"latitude\":48.1370,\"longitude\":11.5750}", true),
        ("XMP:XMP-dc", "Position", "48.1370, 11.5750", false), ("XMP:XMP-my", "Position", "front", false),
        ("XMP:XMP-georss", "Point", "48.1375 11.5755", true), ("XMP:XMP-GImage", "ImageData", "(Binary data)", true),
        ("XMP:XMP-xmp", "ThumbnailImage", "(Binary data)", true), ("EXIF:IFD0", "Exif_0xc69c", "1 1 100", true),
        ("EXIF:IFD0", "GDALMetadata", "<GDALMetadata>", true), ("EXIF:IFD1", "ThumbnailImage", "(Binary data)", false),
        ("XML", "AcquisitionRecordGroupName", "ExifGPS", true), ("XMP:XMP-dc", "Title", "Latitude", false),
        ("EXIF:IFD0", "Exif_0x9abc", "47 8", true), ("EXIF:IFD0", "Exif_0x9abc", "47", false),
        ("EXIF:IFD0", "Exif_0xcd40", "1 2 3", false),
        ("EXIF:IFD0", "DNGPrivateData", "(Binary data 116 bytes, use -b option to extract)", true),
        ("EXIF:SubIFD", "OpcodeList2", "(Binary data 116 bytes, use -b option to extract)", false),
        ("EXIF:IFD0", "OwnerName", "47.1 8.7", true), ("EXIF:ExifIFD", "OwnerName", "somebody", false),
        ("MakerNotes:MakerUnknown", "Unknown_0x0010", "47 7 24", true),
        ("MakerNotes:Apple", "Apple_0x0077", "text", false), ("MakerNotes:Apple", "Apple_0x0077", "4 8 15 16", false),
        ("MakerNotes:Apple", "Apple_0x007a", "48.85837 2.294481", true),
        ("EXIF:IFD0", "ThumbnailTIFF", "(Binary data 408 bytes, use -b option to extract)", false),
        ("XMP:XMP-drone-dji", "LRFTargetLat", "48.1375", true), ("XMP:XMP-a", "Pos_Lon", "11.5755", true),
        ("XMP:XMP-a", "HomeLATDeg", "48.1375", true), ("XMP:XMP-tmp0", "FootprintWKT", "POINT (11.5755 48.1375)", true),
        ("XMP:XMP-a", "Latency", "48.1375", false), ("XMP:XMP-a", "LateralX", "48.1375", false),
        ("XMP:XMP-a", "PlateNumber", "48.1375", false), ("XMP:XMP-a", "FlatField", "48.1375", false),
        ("XMP:XMP-a", "LongExposure", "48.1375", false), ("XMP:XMP-a", "GeoLong", "11.5755", false),
        ("ExifTool", "Warning", "[minor] Unrecognized MakerNotes", true),
    ])
    func numbersOfCamerasAreNoPositions(_ group: String, _ name: String, _ value: String, _ isPosition: Bool) {
        var report = PositionReport()
        report.add(Array("\(group)\t\(name)\t\(value)".utf8)[...])
        #expect(report.tags.isEmpty != isPosition)
    }

    /// The samples of some raw pictures are in the maker notes.
    @Test(arguments: [("JPEG", true), ("IIQ", false), ("TIFF", false)])
    func unknownTagsOfMakersStayInRawPictures(_ type: String, _ isPosition: Bool) {
        var report = PositionReport()
        report.add(Array("File\tFileType\t\(type)".utf8)[...])
        report.add(Array("MakerNotes:PhaseOne\tSensorCalibration_0x041c\t0.98900 0.97200".utf8)[...])
        report.add(Array("MakerNotes:Acme\tAcme_0x0800\t-0.00417 -0.00025 -3.98145 -0.00545".utf8)[...])
        #expect(report.tags.count == (isPosition ? 1 : 0))
    }

    @Test func longIsALongitudeBesideALatitude() {
        var report = PositionReport()
        for name in ["GeoLong", "ExposureLong", "GeoLat"] { report.add(Array("XMP:XMP-s\t\(name)\t8.7".utf8)[...]) }
        report.add(Array("XMP:XMP-t\tGeoLong\t8.7".utf8)[...])
        #expect(report.tags.map(\.name) == ["GeoLat", "GeoLong"] && report.tags.allSatisfy { $0.group == "XMP-s" })
    }

    @Test func namesHaveWords() {
        #expect(PositionName.words(of: "LRFTargetLat") == ["lrf", "target", "lat"])
        #expect(PositionName.words(of: "_home_lon2") == ["home", "lon"])
        #expect(PositionName.words(of: "latLNG") == ["lat", "lng"])
        #expect(PositionName.words(of: "12").isEmpty)
    }

    @Test(
        arguments: [
            ("tx3g", "\0\u{5}Hello", true), ("tx3g", "\0\0\0\u{2}Hi", true),
            ("text", "\0\u{2}Hi\0\0\0\u{C}encd\0\0\u{1}\0", true),
            ("tx3g", "\0\u{5}Hel\u{1}o", false), ("tx3g", "\0\u{9}Hello", false),
            ("text", "LIGOGPSINFO\0\0\0\0\u{1}", false),
            ("text", "\0\u{1}a\0\0\0\u{C}imagdata", false),
            ("wvtt", "\0\0\0\u{12}vttc\0\0\0\u{A}paylHi\0\0\0\u{8}vtte", true), ("wvtt", "\0\0\0\u{9}payl\u{1}", false),
            ("wvtt", "\0\0\0\u{A}dataHi", false), (nil, "Zürich\r\n", true), (nil, "\u{1}\0", false),
            ("stpp", "<tt/>", true),
        ] as [(String?, String, Bool)])
    func dataInSubtitlesIsNoText(_ format: String?, _ samples: String, _ isText: Bool) {
        #expect(SubtitleText.isFound(in: Array(samples.utf8), format: format) == isText)
    }

    @Test func subtitlesMayBeUTF16AndNeverOtherBytes() {
        let wide: [UInt8] = [0xFE, 0xFF] + "Zürich".utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] as [UInt8] }
        #expect(SubtitleText.isFound(in: [0, UInt8(wide.count)] + wide, format: "tx3g"))
        #expect(!SubtitleText.isFound(in: [0x48, 0xFF, 0x49], format: nil))
        #expect(!SubtitleText.isFound(in: wide + [0, 1], format: nil))
    }
}

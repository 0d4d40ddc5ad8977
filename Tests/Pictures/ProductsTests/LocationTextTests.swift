import Testing

@testable import Products

/// Which texts are taken for positions.
@Suite struct LocationTextTests {
    @Test(arguments: [
        "+48.1370+011.5750/", "at -33.8688+151.2093 now", "$GPRMC,120000", "$GNGGA,1", "exif:GPSLatitude=1",
        "{\"latitude\":47.1,\"longitude\":8.7}", "{\"GPSLat\":\"47.1\"}", "{\"LATITUDE\" : -47}", "{\\\"lat\\\":47}",
        "lat=47.1;lon=8.7", "gps_lat = 47.1", "{\"type\":\"Point\",\"coordinates\":[8.7,47.1]}", "{'lng': 8}",
    ])
    func devicesWritePositionsThatAreFoundEverywhere(_ text: String) {
        #expect(PositionText.isFound(in: text.utf8))
    }

    /// Texts that people write stay.
    @Test(arguments: [
        "+49-171-1234567", "48.137154, 11.576124", "geo:48.1,11.5", "N48.137154 E11.576124", "",
        "Latitude: 47.1", "lat=5", "flat=5.5", "{\"flat\":5.5}", "{\"platitude\":3}", "long=12.5",
        "{\"coordinates\":[120,33]}", "{\"lat\":null}", "=", ":1", "\":1",
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
    ])
    func subtitlesOfDevicesAreTelemetry(_ text: String) {
        #expect(PositionText.isTelemetry(Array(text.utf8)))
    }

    @Test(arguments: [
        "Hello", "It is 25 °C at 12.50", "{\\pos(12.345,67.891)}Hello", "The GPS is lost", "at 10.30",
        "It took 2 long years, 1,000,000 people and 1,000 more", "Our GPS says 5 more miles.", "Pi is 3.14159.",
        "At 20° 5 people", "A long way, 12.345 miles", "12.345 miles and 4.567 yards", "from 12:30:15 to 12:45:10",
        "S 12", "begin=\"00:00:01.000\" end=\"00:00:02.500\"", "",
    ])
    func subtitlesOfFilmsAreNot(_ text: String) {
        #expect(!PositionText.isTelemetry(Array(text.utf8)))
    }

    /// Each mark was once compared with all that follow, which took hours.
    @Test(arguments: ["!", "lat!", "1.234", "{", "48:08:", "a "]) func longTextsAreReadInLinearTime(_ piece: String) {
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
        ("MakerNotes:Apple", "Apple_0x0077", "text", false),
        ("ExifTool", "Warning", "[minor] Unrecognized MakerNotes", true),
    ])
    func numbersOfCamerasAreNoPositions(_ group: String, _ name: String, _ value: String, _ isPosition: Bool) {
        var report = PositionReport()
        report.add(Array("\(group)\t\(name)\t\(value)".utf8)[...])
        #expect(report.tags.isEmpty != isPosition)
    }
}

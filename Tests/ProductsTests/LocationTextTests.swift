import Testing

@testable import Products

/// Which texts are taken for positions.
@Suite struct LocationTextTests {
    @Test(arguments: [
        "+48.1370+011.5750/", "at -33.8688+151.2093 now", "$GPRMC,120000", "$GNGGA,1", "exif:GPSLatitude=1",
    ])
    func devicesWritePositionsThatAreFoundEverywhere(_ text: String) {
        #expect(PositionText.isFound(in: text.utf8))
    }

    /// Texts that people write stay.
    @Test(arguments: ["+49-171-1234567", "48.137154, 11.576124", "geo:48.1,11.5", "N48.137154 E11.576124", ""])
    func otherTextsAreNone(_ text: String) {
        #expect(!PositionText.isFound(in: text.utf8))
    }

    @Test(arguments: [
        "GPS(11.5755,48.1375,520)", "[latitude: 48.1] [longitude: 11.5]", "48°08'13\"N", "N 48° 08.2'", "lat=48",
        "GPS_LAT:4",
        "F/2.8, SS 100, 48.137154 11.576124",
    ])
    func subtitlesOfDevicesAreTelemetry(_ text: String) {
        #expect(PositionText.isTelemetry(Array(text.utf8)))
    }

    @Test(arguments: ["Hello", "It is 25 °C at 12.50", "{\\pos(12.345,67.891)}Hello", "The GPS is lost", "at 10.30"])
    func subtitlesOfFilmsAreNot(_ text: String) {
        #expect(!PositionText.isTelemetry(Array(text.utf8)))
    }

    @Test(arguments: [
        ("EXIF:ExifIFD", "LensInfo", "24.123 70.456 2.8 2.8", false),
        ("XMP:XMP-crs", "Dabs", "d 12.1234 0.5678", false),
        ("File", "Comment", "48.1375, 11.5755", false), ("File", "Comment", "+48.1375+011.5755/", true),
        ("XMP:XMP-foo", "Lat", "48.1375", true), ("XMP:XMP-foo", "Place", "48.1375 11.5755", false),
        ("XML", "AcquisitionRecordGroupName", "ExifGPS", true), ("XMP:XMP-dc", "Title", "Latitude", false),
    ])
    func numbersOfCamerasAreNoPositions(_ group: String, _ name: String, _ value: String, _ isPosition: Bool) {
        var report = PositionReport()
        report.add(Array("\(group)\t\(name)\t\(value)".utf8)[...])
        #expect(report.tags.isEmpty != isPosition)
    }
}

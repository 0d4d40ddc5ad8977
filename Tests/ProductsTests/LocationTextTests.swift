import Testing

@testable import Products

/// Which texts are taken for positions.
@Suite struct LocationTextTests {
    @Test(arguments: [
        "48.137154, 11.576124", "48.137154 11.576124", "-33.8688/151.2093", "48.137154;11.576124",
        "at 48.137154,11.576124!",
        "POINT(11.576124 48.137154)", "48.137, 11.576, 520 m",
    ])
    func pairsArePositionsInFreeTexts(_ text: String) {
        #expect(PositionText.isFound(in: text.utf8))
        #expect(!PositionText.isFound(in: text.utf8, isFreeText: false))
    }

    @Test(arguments: [
        "48°08'13.7\"N 11°34'34.0\"E", "48° 8′ 13.7″ N", "N 48° 08.227'", "48.137154° N, 11.576124° E",
        "48 deg 8' 13.70\" N", "Lat: 48.137154 Lon: 11.576124", "{\"lat\":48.1,\"lng\":11.5}", "lat=48.137&long=11.576",
        "https://maps.google.com/?q=48.137154,11.576124", "https://www.google.com/maps/@48.137154,11.576124,17z",
        "https://www.openstreetmap.org/#map=15/48.13715/11.57612", "https://maps.google.com/?q=48.137154%2C11.576124",
        "N48.137154 E11.576124", "48.137154N, 11.576124E", "[latitude: 48.1375]", "\"longitude\": 11.5755",
        "Latitude=48:8:13.7", "$GPRMC,120000", "+48.1370+011.5750/", "geo:48.1,11.5",
    ])
    func markedCoordinatesArePositionsEverywhere(_ text: String) {
        #expect(PositionText.isFound(in: text.utf8, isFreeText: false))
    }

    @Test(arguments: [
        "+49-171-1234567", "ISBN 978-92-95055-02-5", "Dell Latitude 5420", "1.4.2, 3.8", "24.000, 70.000",
        "24-70mm f/2.8",
        "2026:01:02 03:04:05.123 04:05:06.789", "00:00:01.000 --> 00:00:02.500", "0.123456, 0.654321", "148, 211",
        "{\\pos(12.345,67.891)}Hello", "Adobe XMP Core 5.6-c140 79.160451, 2017/05/06-01:08:21", "192.168.100.200",
        "lat 5.50", "a flat 3.25 long 4.75", "20°C 5' N", "1234.567, 2345.678", "v10.1234.5678, 20.1234.5678", "",
        "lat", "48.",
    ])
    func othersAreNot(_ text: String) {
        #expect(!PositionText.isFound(in: text.utf8))
    }

    @Test(arguments: [
        ("EXIF:ExifIFD", "LensInfo", "24.123 70.456 2.8 2.8", false),
        ("XMP:XMP-crs", "Dabs", "d 12.1234 0.5678", false),
        ("MakerNotes:Canon", "ColorData", "1.6402 -0.4302", false), ("File", "Comment", "48.1375, 11.5755", true),
        ("XMP:XMP-foo", "Lat", "48.1375", true), ("XMP:XMP-foo", "Place", "48.1375 11.5755", true),
        ("XML", "AcquisitionRecordGroupName", "ExifGPS", true), ("XMP:XMP-dc", "Title", "Latitude", false),
    ])
    func numbersOfCamerasAreNoPositions(_ group: String, _ name: String, _ value: String, _ isPosition: Bool) {
        var report = PositionReport()
        report.add(Array("\(group)\t\(name)\t\(value)".utf8)[...])
        #expect(report.tags.isEmpty != isPosition)
    }
}

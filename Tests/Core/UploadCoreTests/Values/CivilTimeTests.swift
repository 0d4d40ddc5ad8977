import Testing
import UploadCore

@Suite("Civil time")
struct CivilTimeTests {
    // date -u -d @SECONDS
    @Test(
        "is the date and the time of day in UTC, cut to whole seconds",
        arguments: [
            (0, "1970-01-01 00:00:00"), (999, "1970-01-01 00:00:00"), (-1, "1969-12-31 23:59:59"),
            (951_868_799_999, "2000-02-29 23:59:59"), (951_868_800_000, "2000-03-01 00:00:00"),
            (4_107_542_400_000, "2100-03-01 00:00:00"), (1_795_253_400_999, "2026-11-21 09:30:00"),
            (-62_135_596_800_000, "0001-01-01 00:00:00"), (253_402_300_800_000, "10000-01-01 00:00:00"),
        ] as [(Int64, String)])
    func texts(milliseconds: Int64, text: String) {
        let civil = CivilTime(WallTime(milliseconds: milliseconds))
        #expect("\(civil.date) \(civil.clock)" == text)
    }
}

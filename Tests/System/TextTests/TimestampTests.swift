import Testing
import UploadCore

import Text

@Suite("Timestamp")
struct TimestampTests {
    // date -u -d @SECONDS
    @Test(
        "is RFC 3339 in UTC with milliseconds",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"), (1_078_012_800_000, "2004-02-29T00:00:00.000Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_795_253_400_123, "2026-11-21T09:30:00.123Z"), (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
            (-62_135_596_800_001, "0000-12-31T23:59:59.999Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "10000-01-01T00:00:00.000Z"),
        ] as [(Int64, String)])
    func texts(milliseconds: Int64, text: String) {
        #expect(Timestamp.text(WallTime(milliseconds: milliseconds)) == text)
    }

    @Test("accepts every number of milliseconds", arguments: [Int64.min, .max])
    func extremes(milliseconds: Int64) {
        #expect(Timestamp.text(WallTime(milliseconds: milliseconds)).hasSuffix("Z"))
    }
}

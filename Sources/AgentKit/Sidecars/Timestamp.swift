import UploadCore

/// Wall-clock times as they stand in JSON: `2026-11-21T09:30:00.123Z` (RFC 3339, UTC, milliseconds).
enum Timestamp {
    /// Writes a time.
    static func text(_ time: WallTime) -> String {
        let (days, inDay) = time.milliseconds.dividedFloor(by: 86_400_000)
        let date = civil(days)
        let (seconds, milliseconds) = inDay.quotientAndRemainder(dividingBy: 1000)
        let clock = "\(two(seconds / 3600)):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
        let fraction = String(1000 + milliseconds).dropFirst()
        return "\(four(date.year))-\(two(date.month))-\(two(date.day))T\(clock).\(fraction)Z"
    }

    /// Year, month and day of a number of days since 1970-01-01 in the proleptic Gregorian calendar. Years are counted
    /// from March, so that the leap day comes last.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = (days + 719_468).dividedFloor(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }

    private static func four(_ value: Int64) -> String {
        let digits = String(value.magnitude)
        let padded = String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
        return value < 0 ? "-" + padded : padded
    }
}

extension Int64 {
    /// Division that rounds down, with a remainder that is never negative.
    fileprivate func dividedFloor(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

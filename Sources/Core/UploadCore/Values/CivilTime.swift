/// A wall-clock time as date and time of day: UTC, proleptic Gregorian calendar.
public struct CivilTime: Hashable, Sendable {
    /// The year; 0 is 1 BC.
    public let year: Int64
    /// The month, 1 to 12.
    public let month: Int
    /// The day of the month, 1 to 31.
    public let day: Int
    /// Milliseconds since midnight.
    public let millisecondOfDay: Int

    /// Converts a wall-clock time.
    public init(_ time: WallTime) {
        let (days, inDay) = time.milliseconds.dividedFloor(by: 86_400_000)
        // Days since 1970-01-01. Years are counted from March, so that the leap day comes last.
        let (era, dayOfEra) = (days + 719_468).dividedFloor(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        month = Int(shifted < 10 ? shifted + 3 : shifted - 9)
        day = Int(dayOfYear - (153 * shifted + 2) / 5 + 1)
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        millisecondOfDay = Int(inDay)
    }

    /// The date, as in `2026-11-21`. The year has at least four digits.
    public var date: String {
        let digits = String(year.magnitude)
        let padded = String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
        return "\(year < 0 ? "-" : "")\(padded)-\(Self.two(month))-\(Self.two(day))"
    }

    /// The time of day in whole seconds, as in `09:30:00`.
    public var clock: String {
        let seconds = millisecondOfDay / 1000
        return "\(Self.two(seconds / 3600)):\(Self.two(seconds / 60 % 60)):\(Self.two(seconds % 60))"
    }

    private static func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
}

extension Int64 {
    /// Divides and rounds down. The remainder is never negative.
    fileprivate func dividedFloor(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

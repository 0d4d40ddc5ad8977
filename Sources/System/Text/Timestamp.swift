package import UploadCore

/// Wall-clock times in JSON: `2026-11-21T09:30:00.123Z` (RFC 3339, UTC, milliseconds).
package enum Timestamp {
    /// Returns the text of a time.
    package static func text(_ time: WallTime) -> String {
        let civil = CivilTime(time)
        let fraction = String(1000 + civil.millisecondOfDay % 1000).dropFirst()
        return "\(civil.date)T\(civil.clock).\(fraction)Z"
    }

    /// Parses `2026-11-21` (midnight), `2026-11-21T09:30:00Z` or `2026-11-21T09:30:00.123Z`, all UTC.
    ///
    /// - Returns: nil for anything else.
    package static func time(_ text: String) -> WallTime? {
        let parts = text.split(separator: "T", maxSplits: 1)
        guard let day = parts.first.flatMap({ days($0) }) else { return nil }
        guard parts.count == 2 else { return WallTime(milliseconds: day * 86_400_000) }
        guard parts[1].hasSuffix("Z"), let time = milliseconds(parts[1].dropLast()) else { return nil }
        return WallTime(milliseconds: day * 86_400_000 + time)
    }

    /// Returns the days from 1970-01-01 to a date (Howard Hinnant, days_from_civil).
    private static func days(_ text: Substring) -> Int64? {
        let numbers = text.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
        guard numbers.count == 3, text.utf8.count == 10, let year = numbers[0], let month = numbers[1],
            let day = numbers[2],
            (1...12).contains(month), (1...31).contains(day), (1970...9999).contains(year)
        else { return nil }
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func milliseconds(_ text: Substring) -> Int64? {
        let seconds = text.split(separator: ".", maxSplits: 1)
        let numbers = (seconds.first ?? "").split(separator: ":", omittingEmptySubsequences: false).map { Int64($0) }
        guard numbers.count == 3, let hour = numbers[0], let minute = numbers[1], let second = numbers[2],
            (0..<24).contains(hour), (0..<60).contains(minute), (0...60).contains(second)
        else { return nil }
        let fraction = seconds.count == 2 ? Int64((seconds[1] + "000").prefix(3)) : 0
        return fraction.map { (hour * 3600 + minute * 60 + second) * 1000 + $0 }
    }
}

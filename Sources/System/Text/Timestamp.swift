package import UploadCore

/// Wall-clock times in JSON: `2026-11-21T09:30:00.123Z` (RFC 3339, UTC, milliseconds).
package enum Timestamp {
    /// Returns the text of a time.
    package static func text(_ time: WallTime) -> String {
        let civil = CivilTime(time)
        let fraction = String(1000 + civil.millisecondOfDay % 1000).dropFirst()
        return "\(civil.date)T\(civil.clock).\(fraction)Z"
    }
}

/// Formats sizes, speeds and durations for display.
package enum Quantity {
    private static let units = ["kB", "MB", "GB", "TB", "PB", "EB"]

    /// A number of bytes in decimal units: `512 B`, `4.8 MB`, `123 GB`.
    package static func size(_ bytes: UInt64) -> String {
        guard bytes >= 1000 else { return "\(bytes) B" }
        var unit: UInt64 = 1000
        for name in units {
            let tenths = rounded(bytes, to: unit / 10)
            if tenths < 1000 { return "\(tenths / 10).\(tenths % 10) \(name)" }
            let whole = rounded(bytes, to: unit)
            // 64 bits end at exabytes, so no larger unit exists.
            if whole < 1000 || unit > .max / 1000 { return "\(whole) \(name)" }
            unit *= 1000
        }
        return "\(bytes) B"
    }

    /// A number with its noun: `1 file`, `3 files`.
    package static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

    /// Bytes per second: `12.3 MB/s`.
    package static func speed(_ bytesPerSecond: UInt64) -> String {
        size(bytesPerSecond) + "/s"
    }

    /// Seconds in the two largest relevant units: `45 s`, `2 min 5 s`, `3 h 12 min`, `2 d 4 h`.
    package static func duration(seconds: UInt64) -> String {
        switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: pair(seconds / 60, "min", seconds % 60, "s")
        case ..<86_400: pair(seconds / 3600, "h", seconds % 3600 / 60, "min")
        default: pair(seconds / 86_400, "d", seconds % 86_400 / 3600, "h")
        }
    }

    /// A share in whole per cent, rounded down: 100 % means all.
    package static func percent(_ share: Double) -> String {
        "\(Int((min(max(share, 0), 1) * 100).rounded(.down)))%"
    }

    private static func pair(_ large: UInt64, _ largeUnit: String, _ small: UInt64, _ smallUnit: String) -> String {
        small == 0 ? "\(large) \(largeUnit)" : "\(large) \(largeUnit) \(small) \(smallUnit)"
    }

    private static func rounded(_ value: UInt64, to unit: UInt64) -> UInt64 {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: unit)
        return quotient + (remainder >= unit - remainder ? 1 : 0)
    }
}

extension Duration {
    /// Parses a duration as written in `agent.toml`: `250ms`, `30s`, `2m`, `24h`, `30d`.
    ///
    /// - Returns: nil for anything else.
    package init?(written text: String) {
        guard let duration = Units.duration(text) else { return nil }
        self = duration
    }
}

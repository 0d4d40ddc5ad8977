/// Durations and sizes as text: a whole number and a unit.
package enum Units {
    /// A hundred years. Sums of such durations stay far from overflow.
    package static let longest: Duration = .seconds(36_500 * 86_400)

    /// The largest file offset.
    package static let largest = UInt64(Int64.max)

    private static let durations: [(name: String, length: Duration)] = [
        ("d", .seconds(86_400)), ("h", .seconds(3600)), ("m", .seconds(60)), ("s", .seconds(1)),
        ("ms", .milliseconds(1)),
    ]

    private static let sizes: [(name: String, bytes: UInt64)] = [
        ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
        ("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1000), ("B", 1), ("", 1),
    ]

    /// Parses `250ms`, `30s`, `2m`, `24h`, `30d` or `0`. Returns `nil` for any other text and above a hundred years.
    package static func duration(_ text: String) -> Duration? {
        if text == "0" { return .zero }
        guard let (number, unit) = split(text),
            let length = durations.first(where: { $0.name == unit })?.length,
            number <= UInt64(longest / .milliseconds(1))
        else { return nil }
        let duration = length * Int(number)
        return duration <= longest ? duration : nil
    }

    /// Returns the duration in the largest unit that expresses it exactly.
    package static func spell(_ duration: Duration) -> String {
        guard duration > .zero else { return "0" }
        for unit in durations {
            let count = Int64(duration / unit.length)
            if unit.length * Int(count) == duration { return "\(count)\(unit.name)" }
        }
        return "\(duration)"
    }

    /// Returns the bounds of a duration as text.
    package static func spell(_ range: ClosedRange<Duration>) -> String {
        range.upperBound == longest
            ? "at least \(spell(range.lowerBound))" : "\(spell(range.lowerBound)) … \(spell(range.upperBound))"
    }

    /// Returns the bounds of a size as text.
    package static func spell(_ range: ClosedRange<UInt64>) -> String {
        range.upperBound == largest
            ? "at least \(spell(range.lowerBound))" : "\(spell(range.lowerBound)) … \(spell(range.upperBound))"
    }

    /// Parses `512KiB`, `64MiB`, `10GiB`, `1TiB`, `5KB`, `5MB`, `5GB`, `5TB`, `100B` or `100`. Returns `nil` for any
    /// other text and for values beyond a signed 64-bit file offset.
    package static func size(_ text: String) -> UInt64? {
        guard let (number, unit) = split(text), let bytes = sizes.first(where: { $0.name == unit })?.bytes else {
            return nil
        }
        let (size, overflow) = number.multipliedReportingOverflow(by: bytes)
        return overflow || size > largest ? nil : size
    }

    /// Returns the size in the largest binary unit that expresses it exactly.
    package static func spell(_ size: UInt64) -> String {
        guard size > 0, let unit = sizes.prefix(4).first(where: { size % $0.bytes == 0 }) else { return "\(size)" }
        return "\(size / unit.bytes)\(unit.name)"
    }

    private static func split(_ text: String) -> (number: UInt64, unit: String)? {
        let digits = text.utf8.prefix { (0x30...0x39).contains($0) }
        guard let number = UInt64(String(digits) ?? "") else { return nil }
        return (number, String(text.dropFirst(digits.count)))
    }
}

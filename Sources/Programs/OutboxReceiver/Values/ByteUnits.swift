/// Reads and writes sizes as administrators write them: `512MiB`, `64GiB`, `1000`.
public enum ByteUnits {
    private static let units: [(suffix: String, factor: Int64)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
    ]

    /// Returns the number of bytes, or nil if the text is no size.
    public static func bytes(_ text: some StringProtocol) -> Int64? {
        let unit = units.first { text.hasSuffix($0.suffix) }
        guard let number = Int64(text.dropLast(unit?.suffix.count ?? 0)), number >= 0 else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit?.factor ?? 1)
        return overflow ? nil : bytes
    }

    /// Returns the size in the largest unit that needs no fraction.
    public static func text(_ bytes: Int64) -> String {
        let unit = units.last { bytes >= $0.factor && bytes % $0.factor == 0 }
        return unit.map { "\(bytes / $0.factor)\($0.suffix)" } ?? "\(bytes)"
    }
}

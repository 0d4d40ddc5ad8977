import ArgumentParser

/// A size on the command line: `512MiB`, `64GiB`, `1000`.
struct ByteCount: ExpressibleByArgument, CustomStringConvertible {
    private static let units: [(suffix: String, factor: Int64)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
    ]

    let bytes: Int64

    init(_ bytes: Int64) {
        self.bytes = bytes
    }

    init?(argument: String) {
        let unit = Self.units.first { argument.hasSuffix($0.suffix) }
        guard let number = Int64(argument.dropLast(unit?.suffix.count ?? 0)), number >= 0 else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit?.factor ?? 1)
        guard !overflow else { return nil }
        self.bytes = bytes
    }

    var description: String {
        let unit = Self.units.last { bytes >= $0.factor && bytes % $0.factor == 0 }
        return unit.map { "\(bytes / $0.factor)\($0.suffix)" } ?? "\(bytes)"
    }

    var defaultValueDescription: String { description }
}

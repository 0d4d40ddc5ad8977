import ArgumentParser

/// The options of all measurements.
struct Options: ParsableArguments {
    @Option(
        help: "The directory for test files and servers, on the disk to measure (default: .build, else TMPDIR).")
    var workDir: String?

    @Option(help: "The directory of outbox and outbox-receiver (default: beside this program).")
    var binDir: String?

    @Flag(help: "Print one JSON object instead of lines.")
    var json = false
}

/// The options of comparing measurements.
struct PairOptions: ParsableArguments {
    @Option(help: "How many times each contender runs.")
    var pairs = 5

    func validate() throws {
        guard pairs > 0 else { throw ValidationError("--pairs must be positive") }
    }
}

/// A size on the command line: `512MiB`, `64GiB`, `1000`.
struct ByteCount: Equatable, ExpressibleByArgument, CustomStringConvertible {
    private static let units: [(suffix: String, factor: Int64)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30),
    ]

    let bytes: Int64

    init(_ bytes: Int64) {
        self.bytes = bytes
    }

    init?(argument: String) {
        let unit = Self.units.first { argument.hasSuffix($0.suffix) }
        guard let number = Int64(argument.dropLast(unit?.suffix.count ?? 0)), number > 0 else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit?.factor ?? 1)
        guard !overflow else { return nil }
        self.bytes = bytes
    }

    var description: String {
        let unit = Self.units.last { bytes >= $0.factor && bytes % $0.factor == 0 }
        return unit.map { "\(bytes / $0.factor) \($0.suffix)" } ?? "\(bytes) bytes"
    }

    var defaultValueDescription: String { description.filter { $0 != " " } }
}

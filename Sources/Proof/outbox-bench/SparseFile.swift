import ArgumentParser

/// Measures the memory for one huge sparse file, against rclone and u2c (P4).
struct SparseFile {
    let size: ByteCount
    let pairs: Int

    func run(_ workplace: Workplace) throws -> Finding {
        try workplace.require(freeBytes: Self.space(size))
        note("One sparse file of \(size): outbox, rclone and u2c")
        let series = try workplace.withTestFiles { directory in
            let files = try TestFiles.makeSparse(size.bytes, in: directory)
            return try Rivals.compare(on: files, pairs: pairs, workplace)
        }
        return .ratio(
            "P4", of: \.peakBytes, in: series, bar: 1, what: "peak memory, a sparse file of \(size)",
            show: Text.memory)
    }

    /// Returns the disk space for the server's copy, because servers write the zeros to disk, and a reserve.
    static func space(_ size: ByteCount) -> Int64 { size.bytes + size.bytes / 8 + (1 << 30) }
}

struct P4: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Peak memory for one huge sparse file and for many small files, compared with rclone and u2c.")

    @OptionGroup var options: Options
    @Option(help: "How many times each contender runs.") var pairs = 1
    @Option(help: "Size of the sparse file.") var size = ByteCount(10 << 30)
    @Option(help: "How many small files.") var count = 10_000

    func run() throws {
        let many = ManyFiles(count: count, size: ByteCount(64 << 10), pairs: pairs)
        try Report.run(options) { workplace, report in
            report.add(try SparseFile(size: size, pairs: pairs).run(workplace))
            report.add(many.memory(try many.run(workplace)))
        }
    }

    func validate() throws {
        guard pairs > 0 else { throw ValidationError("--pairs must be positive") }
    }
}

import ArgumentParser

/// Measures one large file against md5sum and curl: time (P1) and CPU time (P3).
struct LargeFile {
    let size: ByteCount
    let pairs: Int

    /// Whether the server throws the bytes away. The figures then show the limit of the agent alone, beside that of
    /// `curl`.
    var discards = false

    func run(_ workplace: Workplace) throws -> Series {
        try workplace.require(freeBytes: Self.space(size))
        note("\(what): outbox and md5sum+curl")
        return try workplace.withTestFiles { directory in
            let files = try TestFiles.make(1, of: size.bytes, in: directory)
            let programs = workplace.programs
            let contenders: [any Contender] = [
                OutboxContender(programs: programs, server: discards ? .discarding : .receiver),
                try CurlContender(programs, to: discards ? .discard : .verify),
                discards
                    ? try CurlContender(programs, hashes: false, to: .discard, isRival: false)
                    : try CurlContender(programs, to: .store, isRival: false),
            ]
            return try Series(contenders, files: files, pairs: pairs, workplace: workplace)
        }
    }

    /// Returns the disk space for the file, the server's copy, and a reserve.
    static func space(_ size: ByteCount) -> Int64 { 3 * size.bytes + (1 << 30) }

    private var what: String { "one file of \(size)\(discards ? " to a server that discards it" : "")" }

    func time(_ series: Series) -> Finding {
        .ratio("P1", of: \.wall, in: series, bar: discards ? nil : 1, what: what, show: Text.seconds)
    }

    func cpu(_ series: Series) -> Finding {
        let gibibytes = Double(size.bytes) / Double(1 << 30)
        return .ratio("P3", of: \.cpu, in: series, bar: discards ? nil : 1.2, what: "CPU per GiB, \(what)") {
            Text.seconds($0 / gibibytes)
        }
    }

    /// Measures against the usual server, then against one that discards.
    static func runBoth(
        size: ByteCount, pairs: Int, _ workplace: Workplace, _ finding: (LargeFile, Series) -> Void
    ) throws {
        for discards in [false, true] {
            let measure = LargeFile(size: size, pairs: pairs, discards: discards)
            finding(measure, try measure.run(workplace))
        }
    }
}

struct P1: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Time for one large file, compared with md5sum and curl; then with a server that discards it.")

    @OptionGroup var options: Options
    @OptionGroup var repetition: PairOptions
    @Option(help: "Size of the file.") var size = ByteCount(4 << 30)

    func run() throws {
        try Report.run(options) { workplace, report in
            try LargeFile.runBoth(size: size, pairs: repetition.pairs, workplace) { report.add($0.time($1)) }
        }
    }
}

struct P3: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "CPU time per GiB, compared with md5sum and curl; then with a server that discards the file.")

    @OptionGroup var options: Options
    @OptionGroup var repetition: PairOptions
    @Option(help: "Size of the file.") var size = ByteCount(1 << 30)

    func run() throws {
        try Report.run(options) { workplace, report in
            try LargeFile.runBoth(size: size, pairs: repetition.pairs, workplace) { report.add($0.cpu($1)) }
        }
    }
}

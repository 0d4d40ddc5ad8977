import ArgumentParser

/// Measures one large file against md5sum and curl: time (P1) and CPU time (P3).
struct LargeFile {
    let size: ByteCount
    let pairs: Int

    func run(_ workplace: Workplace) throws -> Series {
        // Room for the file, the server's copy, and a reserve.
        try workplace.require(freeBytes: 3 * size.bytes + (1 << 30))
        note("One file of \(size): outbox and md5sum+curl")
        return try workplace.withTestFiles { directory in
            let files = try TestFiles.make(1, of: size.bytes, in: directory)
            let contenders: [any Contender] = [
                OutboxContender(programs: workplace.programs), try CurlContender(workplace.programs),
            ]
            return try Series(contenders, files: files, pairs: pairs, workplace: workplace)
        }
    }

    func time(_ series: Series) -> Finding {
        .ratio("P1", of: \.wall, in: series, bar: 1, what: "one file of \(size)", show: Text.seconds)
    }

    func cpu(_ series: Series) -> Finding {
        let gibibytes = Double(size.bytes) / Double(1 << 30)
        return .ratio("P3", of: \.cpu, in: series, bar: 1.2, what: "CPU per GiB of a file of \(size)") {
            Text.seconds($0 / gibibytes)
        }
    }
}

struct P1: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Time for one large file, compared with md5sum and curl.")

    @OptionGroup var options: Options
    @OptionGroup var repetition: PairOptions
    @Option(help: "Size of the file.") var size = ByteCount(4 << 30)

    func run() throws {
        let measure = LargeFile(size: size, pairs: repetition.pairs)
        try Report.run(options) { $1.add(measure.time(try measure.run($0))) }
    }
}

struct P3: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "CPU time per GiB, compared with md5sum and curl.")

    @OptionGroup var options: Options
    @OptionGroup var repetition: PairOptions
    @Option(help: "Size of the file.") var size = ByteCount(1 << 30)

    func run() throws {
        let measure = LargeFile(size: size, pairs: repetition.pairs)
        try Report.run(options) { $1.add(measure.cpu(try measure.run($0))) }
    }
}

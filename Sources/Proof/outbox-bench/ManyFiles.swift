import ArgumentParser

/// Measures many small files against rclone and u2c: time and CPU (P2), and memory (P4).
struct ManyFiles {
    let count: Int
    let size: ByteCount
    let pairs: Int

    func run(_ workplace: Workplace) throws -> Series {
        try workplace.require(freeBytes: Self.space(count, of: size))
        note("\(count) files of \(size): outbox, rclone and u2c")
        return try workplace.withTestFiles { directory in
            let files = try TestFiles.make(count, of: size.bytes, in: directory)
            let unflushed = OutboxContender(programs: workplace.programs, server: .unflushed)
            // Four contenders at most.
            return try workplace.withKeptRooms(4 * Int64(pairs) * size.bytes * Int64(count)) {
                try Rivals.compare(on: files, pairs: pairs, workplace, others: [unflushed])
            }
        }
    }

    /// Returns the disk space for the files, the server's copies, and a reserve.
    static func space(_ count: Int, of size: ByteCount) -> Int64 { 3 * size.bytes * Int64(count) + (1 << 30) }

    func time(_ series: Series) -> Finding {
        .ratio("P2", of: \.wall, in: series, bar: 0.33, what: "\(count) files of \(size)", show: Text.seconds)
    }

    func cpu(_ series: Series) -> Finding {
        .ratio("P2", of: \.cpu, in: series, bar: 1, what: "CPU, \(count) files of \(size)", show: Text.seconds)
    }

    func memory(_ series: Series) -> Finding {
        .ratio(
            "P4", of: \.peakBytes, in: series, bar: 1, what: "peak memory, \(count) files of \(size)",
            show: Text.memory)
    }
}

/// Other programs for the same purpose.
enum Rivals {
    /// Compares the agent with all installed rivals.
    ///
    /// - Parameter others: Contenders that take turns with these, but are no rivals.
    static func compare(
        on files: TestFiles, pairs: Int, _ workplace: Workplace, others: [any Contender] = []
    ) throws -> Series {
        var contenders: [any Contender] = [OutboxContender(programs: workplace.programs)] + others
        var absences: [String] = []
        let rivals: [(String, () throws -> any Contender)] = [
            ("rclone", { try RcloneContender() }), ("u2c", { try CopypartyContender() }),
        ]
        for (name, make) in rivals {
            do {
                contenders.append(try make())
            } catch {
                absences.append("without \(name): \(error)")
                note("  \(absences[absences.count - 1])")
            }
        }
        return try Series(contenders, absences: absences, files: files, pairs: pairs, workplace: workplace)
    }
}

struct P2: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Time and CPU for many small files, compared with rclone and u2c.")

    @OptionGroup var options: Options
    @OptionGroup var repetition: PairOptions
    @Option(help: "How many files.") var count = 10_000
    @Option(help: "Size of each file.") var size = ByteCount(64 << 10)

    func run() throws {
        let measure = ManyFiles(count: count, size: size, pairs: repetition.pairs)
        try Report.run(options) { workplace, report in
            let series = try measure.run(workplace)
            report.add(measure.time(series))
            report.add(measure.cpu(series))
        }
    }
}

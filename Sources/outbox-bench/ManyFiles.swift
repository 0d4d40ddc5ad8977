import ArgumentParser

/// Measures many small files against rclone and u2c: time (P2) and memory (P4).
struct ManyFiles {
    let count: Int
    let size: ByteCount
    let pairs: Int

    func run(_ workplace: Workplace) throws -> Series {
        try workplace.require(freeBytes: 3 * size.bytes * Int64(count) + (1 << 30))
        note("\(count) files of \(size): outbox, rclone and u2c")
        return try workplace.withTestFiles { directory in
            let files = try TestFiles.make(count, of: size.bytes, in: directory)
            let contenders = Rivals.withOutbox(workplace.programs)
            return try Series(contenders, files: files, pairs: pairs, workplace: workplace)
        }
    }

    func time(_ series: Series) -> Finding {
        .ratio("P2", of: \.wall, in: series, bar: 0.33, what: "\(count) files of \(size)", show: Text.seconds)
    }

    func memory(_ series: Series) -> Finding {
        .ratio(
            "P4", of: \.peakBytes, in: series, bar: 1, what: "peak memory, \(count) files of \(size)",
            show: Text.memory)
    }
}

/// Other programs for the same purpose.
enum Rivals {
    /// Returns the agent and all installed rivals.
    static func withOutbox(_ programs: Programs) -> [any Contender] {
        var contenders: [any Contender] = [OutboxContender(programs: programs)]
        do {
            contenders.append(try RcloneContender())
        } catch {
            note("  rclone is skipped: \(error)")
        }
        do {
            contenders.append(try CopypartyContender())
        } catch {
            note("  u2c is skipped: \(error)")
        }
        return contenders
    }
}

struct P2: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Time for many small files, compared with rclone and u2c.")

    @OptionGroup var options: Options
    @OptionGroup var repetition: PairOptions
    @Option(help: "How many files.") var count = 10_000
    @Option(help: "Size of each file.") var size = ByteCount(64 << 10)

    func run() throws {
        let measure = ManyFiles(count: count, size: size, pairs: repetition.pairs)
        try Report.run(options) { $1.add(measure.time(try measure.run($0))) }
    }
}

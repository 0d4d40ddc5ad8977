import ArgumentParser
import Glibc

/// Measures the start of an agent whose outbox is full of finished files, after an orderly end, against `find` of the
/// same directories (P7).
struct StartUp {
    let count: Int
    let pairs: Int

    func run(_ workplace: Workplace) throws -> Finding {
        try workplace.require(freeBytes: TinyFiles.space(count))
        let find = try Programs.find("find")
        note("Starts with \(count) finished files, and find -printf; the files are uploaded first")
        return try workplace.withRoom("start") { room in
            let agent = try FilledAgent(.done, count, in: room, workplace)
            defer { agent.installation.stop() }
            try agent.installation.stopAgent()
            var starts: [Installation.Start] = []
            var finds: [Installation.Start] = []
            // Warms up: both read the directories from the page cache.
            _ = try list(agent.installation.outbox, find)
            for pair in 1...pairs {
                sync()
                starts.append(try agent.installation.restartAgent())
                try agent.installation.stopAgent()
                finds.append(try list(agent.installation.outbox, find))
                let seconds = [starts, finds].compactMap(\.last?.wall).map(Text.seconds)
                note("  \(pair) of \(pairs)  \(seconds.joined(separator: ", "))")
            }
            return finding(starts, finds)
        }
    }

    private func finding(_ starts: [Installation.Start], _ finds: [Installation.Start]) -> Finding {
        func medians(_ property: KeyPath<Installation.Start, Double>) -> (ours: Double, theirs: Double) {
            (starts.map { $0[keyPath: property] }.median, finds.map { $0[keyPath: property] }.median)
        }
        let (wall, cpu) = (medians(\.wall), medians(\.cpu))
        return .ratio(
            "P7", zip(starts, finds).map { $0.wall / $1.wall }, bar: 3,
            what: "start with \(count) finished files → idle, after an orderly end", against: "find -printf",
            details: """
                outbox \(Text.seconds(wall.ours)), find \(Text.seconds(wall.theirs)); CPU \(Text.seconds(cpu.ours)), \
                \(Text.seconds(cpu.theirs))
                """, medians: [("outbox", wall.ours), ("find", wall.theirs)])
    }

    /// Lists the outbox, with size and time of each file.
    private func list(_ outbox: String, _ find: String) throws -> Installation.Start {
        let start = ContinuousClock.now
        let arguments = [outbox, "-printf", "%p %s %T@\\n"]
        let cost = try ChildProcess(find, arguments, log: "/dev/null").finish(within: .seconds(600))
        return Installation.Start(wall: start.secondsAgo, cpu: cost.cpu)
    }
}

struct P7: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Start with many finished files until the agent is idle, compared with find.")

    @OptionGroup var options: Options
    @OptionGroup var repetition: PairOptions
    @Option(help: "How many finished files of 1 KiB.") var count = 100_000

    func validate() throws {
        guard count > 0 else { throw ValidationError("--count must be positive") }
    }

    func run() throws {
        try Report.run(options) { $1.add(try StartUp(count: count, pairs: repetition.pairs).run($0)) }
    }
}

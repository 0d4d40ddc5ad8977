import ArgumentParser
import Glibc

/// Measures what the number of known paths costs in a running agent (P10): CPU time per file, memory, the time until
/// the agent answers, and what further files cost.
struct Growth {
    /// The numbers of paths, the smallest first. The others are compared with the smallest.
    let sizes: [Int]
    let pairs: Int

    /// The number of files dropped into an agent that knows many paths.
    private static let further = 1000

    func run(_ workplace: Workplace, _ add: (Finding) -> Void) throws {
        try workplace.require(freeBytes: TinyFiles.space(sizes.max() ?? 0))
        for end in FilledAgent.End.allCases {
            for size in sizes { add(try finding(end, size, workplace)) }
        }
    }

    private func finding(_ end: FilledAgent.End, _ size: Int, _ workplace: Workplace) throws -> Finding {
        note("\(size) paths \(end)")
        return try workplace.withRoom("\(end)-\(size)") { room in
            let agent = try FilledAgent(end, size, in: room, workplace)
            defer { agent.installation.stop() }
            let load = agent.load
            let memory = agent.memoryAtRest()
            let answers = try agent.answers(100).mapValues { $0.percentile(0.99) }
            var figures = [
                Finding.Figure(name: "CPU a file", value: load.cpu * 1000 / Double(size), unit: "ms", bar: nil),
                Finding.Figure(name: "peak memory", value: Text.mebibytes(load.peakMemory), unit: "MiB", bar: 256),
                Finding.Figure(name: "at rest", value: Text.mebibytes(memory), unit: "MiB", bar: nil),
                Finding.Figure(name: "answers p99", value: (answers.values.max() ?? 0) * 1000, unit: "ms", bar: 100),
            ]
            let each = answers.sorted { $0.key < $1.key }.map { "\($0) \(Text.milliseconds($1))" }
            var details = [
                "\(each.joined(separator: ", ")); while busy at most \(Text.milliseconds(load.slowestAnswer))",
                "\(Text.seconds(load.wall)) in all",
            ]
            var spread = ""
            if let small = sizes.first, small < size {
                let (ratios, costs) = try compare(agent, with: small, workplace)
                figures.insert(Finding.Figure(name: "ratio", value: ratios.median, unit: "", bar: 1.2), at: 0)
                spread = Text.spread(ratios)
                details.insert(costs, at: 0)
            }
            return Finding(
                measure: "P10", what: "\(size) paths \(end)", against: size == sizes.first ? nil : "\(sizes[0]) paths",
                figures: figures, spread: spread, details: details.joined(separator: "; "),
                count: size == sizes.first ? 0 : pairs)
        }
    }

    /// Compares the CPU time for further files with that in new agents that know few paths.
    private func compare(
        _ agent: FilledAgent, with small: Int, _ workplace: Workplace
    ) throws -> (ratios: [Double], costs: String) {
        var costs: [(many: Double, few: Double)] = []
        var withScan = 0
        for pair in 1...pairs {
            let scans = try agent.installation.control.scans()
            let many = try agent.drop(Self.further)
            let hasScanned = try agent.installation.control.scans() > scans
            if hasScanned { withScan += 1 }
            let few = try workplace.withRoom("few") { room in
                let few = try FilledAgent(agent.end, small, in: room, workplace)
                defer { few.installation.stop() }
                few.installation.rest()
                return try few.drop(Self.further)
            }
            let scan = hasScanned ? ", with a full scan" : ""
            note("  \(pair) of \(pairs)  \(Text.milliseconds(many.cpu))\(scan), \(Text.milliseconds(few.cpu))")
            costs.append((many.cpu, few.cpu))
        }
        func cost(_ seconds: [Double]) -> String { "\(Text.fixed(seconds.median * 1000 / Double(Self.further), 2)) ms" }
        return (
            costs.map { $0.many / $0.few },
            "a further file \(cost(costs.map(\.many))), else \(cost(costs.map(\.few))); "
                + "a full scan in \(withScan) of \(pairs) pairs"
        )
    }
}

/// An agent that knows many paths.
final class FilledAgent {
    /// What becomes of the files.
    enum End: String, CaseIterable {
        /// Uploaded to a server that discards them.
        case done
        /// Waiting for a server that is away.
        case queued
    }

    /// The cost of files that the agent took.
    struct Load {
        /// Seconds from the drop until the agent was idle.
        let wall: Double
        /// User and system time of the agent, in seconds.
        let cpu: Double
        /// The peak memory of the agent since its start, in bytes.
        let peakMemory: Int64
        /// The longest wait for an answer meanwhile, in seconds.
        let slowestAnswer: Double
    }

    let installation: Installation
    let end: End
    /// The cost of the first files.
    private(set) var load = Load(wall: 0, cpu: 0, peakMemory: 0, slowestAnswer: 0)
    private let room: String
    private var known = 0

    private static let targets = ["health": "/v1/health", "status": "/v1/files?limit=100", "metrics": "/metrics"]

    /// Starts an agent and has it take the files.
    init(_ end: End, _ count: Int, in room: String, _ workplace: Workplace) throws {
        self.end = end
        self.room = room
        installation = try Installation(
            workplace.programs, in: room, server: end == .done ? .discarding : .away)
        do {
            load = try drop(count, asks: true)
        } catch {
            installation.stop()
            throw error
        }
    }

    /// Drops further files, and waits until the agent has taken them and is idle.
    ///
    /// - Parameter asks: Whether to measure each second how long the agent takes to answer.
    func drop(_ count: Int, asks: Bool = false) throws -> Load {
        let place = try Workplace.makeDirectory("\(room)/new")
        let files = try TinyFiles(known..<known + count, in: place)
        sync()
        known += count
        let agent = installation.agent
        let cpuBefore = agent.reading.cpuSeconds ?? 0
        let start = ContinuousClock.now
        try files.drop(into: installation.outbox)
        Workplace.remove(place)
        var spell = QuietSpell()
        var slowest = 0.0
        var nextQuestion = 1.0
        while start.secondsAgo < 600 + Double(count) / 20 {
            try agent.checkRunning()
            if let quiet = spell.add(cpu: agent.reading.cpuSeconds ?? 0, at: start.secondsAgo) {
                if try hasAll() {
                    return Load(
                        wall: quiet.time, cpu: quiet.cpu - cpuBefore, peakMemory: agent.peakMemory.bytes,
                        slowestAnswer: slowest)
                }
                spell = QuietSpell()
            }
            if asks, start.secondsAgo > nextQuestion {
                slowest = max(slowest, try answers(1).values.compactMap(\.first).max() ?? 0)
                nextQuestion = start.secondsAgo + 1
            }
            usleep(20_000)
        }
        throw Failure("the agent had not taken \(known) files: \(try installation.control.counts())")
    }

    /// Whether every file has come to its end.
    private func hasAll() throws -> Bool {
        let counts = try installation.control.counts()
        let lost = ["failed", "rejected", "cancelled"].compactMap { counts[$0] }.reduce(0, +)
        guard lost == 0 else { throw Failure("\(lost) files failed: \(counts)") }
        let done = counts["done"] ?? 0
        let waiting = ["queued", "uploading", "waiting"].compactMap { counts[$0] }.reduce(0, +)
        return (end == .done ? done : waiting) >= known
    }

    /// Returns the memory in bytes after the agent has given back what it does not need.
    func memoryAtRest() -> Int64 {
        installation.rest()
        return installation.agent.reading.memory ?? 0
    }

    /// Returns the seconds until the agent answers, by question.
    func answers(_ count: Int) throws -> [String: [Double]] {
        try Self.targets.mapValues { target in
            try (0..<count).map { _ in try installation.control.seconds(target) }
        }
    }
}

struct P10: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "p10",
        abstract: "Cost per file, memory and answers of an agent that knows many paths.",
        discussion: """
            For each number of paths, once with all files uploaded (to a server that discards them) and once with all \
            files queued (the server is away): CPU time of the agent per file, peak memory, memory at rest, and the time \
            until health, status and metrics answer. Then the CPU time for 1,000 further files, compared with an agent \
            that knows few paths. Files have 1 KiB.
            """,
        aliases: ["growth"])

    @OptionGroup var options: Options
    @Option(help: "How many times further files are compared.") var pairs = 5
    @Option(help: "The largest number of paths; the smaller ones are its tenths, and 1000.") var entries = 100_000

    /// Returns the numbers of paths to measure, the smallest first.
    static func sizes(upTo most: Int) -> [Int] {
        let tenths = sequence(first: most) { $0 > 1000 ? max(1000, $0 / 10) : nil }
        return tenths.reversed()
    }

    func validate() throws {
        guard pairs > 0, entries > 0 else { throw ValidationError("--pairs and --entries must be positive") }
    }

    func run() throws {
        try Report.run(options) { workplace, report in
            try Growth(sizes: Self.sizes(upTo: entries), pairs: pairs).run(workplace) { report.add($0) }
        }
    }
}

import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// R28: files of the state directory are removed, emptied, cut, overwritten, bit-flipped or replaced by a directory,
/// while the agent is down and while it runs.
struct DamagedState: Trial {
    let name = "R28"
    let title = "state files damaged"
    let bar =
        "0 lost, 0 duplicates, 0 crash loops; cancelled and paused files stay so; the agent reports a damaged ledger"

    private enum Harm: String, CaseIterable {
        case removed, emptied, cut, overwritten, flipped, directory
    }

    private static let ledger = "ledger.lmdb"
    private static let lock = "ledger.lmdb-lock"
    /// More failed starts than this in one round count as a crash loop.
    private static let mostFailedStarts = 3

    func run(_ context: TrialContext) async throws -> Outcome {
        let rounds = context.count(quick: 8, usual: 40, long: 300)
        var random = context.random
        let server = try FaultServer(tellsExisting: true)
        let agent = try context.agent(
            remote: server.url, environment: ["SWIFT_BACKTRACE": "enable=no"])
        var stage = Stage(agent: agent, server: server)
        try await stage.prepare(&random)
        for round in 0..<rounds {
            let isRunning = Bool.random(using: &random)
            // The ledger suffers each kind of damage in turn, the other files at random.
            let harm = Harm.allCases[round / 2 % Harm.allCases.count]
            let names = stage.stateFiles
            let isLedger = round % 2 == 0 || names.isEmpty
            let name = isLedger ? Self.ledger : names[Int.random(in: names.indices, using: &random)]
            // This file contains LMDB's mutexes: overwriting them may block a process forever.
            if isRunning, name == Self.lock, [.overwritten, .flipped].contains(harm) { continue }
            stage.begin("round \(round), \(name) \(harm) \(isRunning ? "while it runs" : "while it is down")")
            if isRunning {
                try stage.drop(2, &random)
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...100, using: &random)))
                try stage.harm(name, &random) { try Self.carryOut(harm, on: $0, &$1) }
                try stage.drop(1, &random)
                try await stage.endOrOutcomes(context.patience)
                // The next start must detect damage that the agent missed so far.
                try await stage.end()
            } else {
                if Bool.random(using: &random) { try await stage.end() } else { try await agent.kill() }
                try stage.harm(name, &random) { try Self.carryOut(harm, on: $0, &$1) }
                try stage.drop(1, &random)
            }
            try await stage.start(mostFailures: Self.mostFailedStarts)
            try stage.drop(1, &random)
            try await stage.outcomes(context.patience)
            stage.check(isSaid: isLedger && harm != .flipped)
        }
        try await stage.end()
        let verdict = try stage.judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        stage.findings.add(verdict)
        return stage.findings.outcome(
            "\(rounds) times, \(stage.crashes) crashes, \(stage.refusals) starts refused: \(verdict.summary)")
    }

    private static func carryOut(_ harm: Harm, on path: String, _ random: inout SeededRandom) throws {
        let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
        switch harm {
        case .removed: try FileManager.default.removeItem(atPath: path)
        case .emptied: truncate(path, 0)
        // The file has a hole of some MiB behind its used pages; cutting the hole off is harmless.
        case .cut: truncate(path, off_t(Int.random(in: 0..<max(1, min(size, 30_000)), using: &random)))
        case .overwritten: try Files.patch(path, at: 0, with: random.bytes(max(1, min(size, 300_000))))
        case .flipped:
            guard size > 0, let bytes = Files.read(Array(path.utf8)) else { return }
            for _ in 0..<20 {
                let place = Int.random(in: 0..<min(size, 300_000), using: &random)
                try Files.patch(
                    path, at: UInt64(place), with: [bytes[place] ^ (1 << UInt8.random(in: 0..<8, using: &random))])
            }
        case .directory:
            try FileManager.default.removeItem(atPath: path)
            try Files.makeDirectory(path)
        }
    }
}

/// The agent, the dropped files, and the conditions that must hold.
private struct Stage {
    let agent: Agent
    let server: FaultServer
    var judge = Judge()
    var findings = Findings()
    var crashes = 0
    var refusals = 0
    private var held: [String: Sidecar.State] = [:]
    private var heldKeys: Set<String> = []
    private var dropped = 0
    private var round = ""
    /// Whether the agent refused to start in this round.
    private var wasRefused = false
    private var logStart = 0

    init(agent: Agent, server: FaultServer) {
        self.agent = agent
        self.server = server
    }

    /// Prepares some cancelled, some paused and some finished files.
    mutating func prepare(_ random: inout SeededRandom) async throws {
        // All dropped files wait.
        server.setFaults { _, _ in .status(503) }
        try await agent.start()
        for number in 0..<3 {
            for (name, state) in [
                ("cancelled-\(number).jpg", Sidecar.State.cancelled), ("paused-\(number).jpg", .paused),
            ] {
                heldKeys.insert(try agent.drop(name, .jpeg, size: 20_000, seed: random.next()))
                held[name] = state
                try await agent.reached(name, .waiting, .queued)
                let command = state == .cancelled ? "cancel" : "pause"
                let output = try await agent.command(command, name)
                guard output.code == 0 else { throw Surprise("\(command) \(name): \(output)") }
                try await agent.reached(name, state)
            }
        }
        server.setFaults { _, _ in nil }
        try drop(3, &random)
        try await outcomes(.seconds(120))
    }

    /// The files of the state directory except the ledger, relative to the directory.
    var stateFiles: [String] {
        Files.regularFiles(agent.state).filter { $0 != "ledger.lmdb" && !$0.hasPrefix("ledger.lmdb.damaged-") }.sorted()
    }

    mutating func begin(_ round: String) {
        self.round = round
        wasRefused = false
        logStart = logBytes.count
    }

    mutating func drop(_ count: Int, _ random: inout SeededRandom) throws {
        for _ in 0..<count {
            let name = "\(dropped).jpg"
            dropped += 1
            judge.stands(
                try agent.drop(
                    name, .jpeg, size: Int.random(in: 1000...1_500_000, using: &random), seed: random.next()),
                at: name)
        }
    }

    func harm(
        _ name: String, _ random: inout SeededRandom, _ harm: (String, inout SeededRandom) throws -> Void
    ) throws {
        let path = "\(agent.state)/\(name)"
        do {
            try harm(path, &random)
        } catch  where !FileManager.default.fileExists(atPath: path) {
            // The agent creates and removes some files itself.
        }
    }

    /// Waits until all files have outcomes, or the damage ends the agent.
    mutating func endOrOutcomes(_ patience: Duration) async throws {
        do {
            try await agent.outcomes(judge, timeout: patience)
        } catch is Surprise {
            noteEnding(agent.program?.ending)
        }
    }

    mutating func end() async throws {
        if let ending = agent.program?.ending {
            noteEnding(ending)
        } else {
            noteEnding(try await agent.stop())
        }
    }

    private mutating func noteEnding(_ ending: Program.Ending?) {
        switch ending {
        case .exited(0), nil: break
        // The ledger is unusable, as the log says.
        case .exited(74): break
        case .exited(let code): findings.expect(false, "\(round): exit status \(code)\n\(agent.log)")
        case .killed: crashes += 1
        }
    }

    /// Starts the agent. The agent may refuse to start if a directory replaces a file, and must name the directory.
    mutating func start(mostFailures: Int) async throws {
        var failures = 0
        while true {
            do {
                return try await agent.start()
            } catch let surprise as Surprise {
                failures += 1
                guard failures <= mostFailures else { throw Surprise("\(round): a crash loop: \(surprise)") }
                let log = newLog
                for directory in directoriesInTheWay {
                    refusals += 1
                    wasRefused = true
                    findings.expect(
                        log.contains(directory) && agent.program?.ending != .exited(0),
                        "\(round): the agent does not report the directory\n\(log)")
                    try FileManager.default.removeItem(atPath: "\(agent.state)/\(directory)")
                }
            }
        }
    }

    private var directoriesInTheWay: [String] {
        Files.tree(agent.state).filter { name in
            var status = stat()
            let isDirectory = lstat("\(agent.state)/\(name)", &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            return isDirectory && !["thumbnails", "portrait"].contains { name.hasPrefix($0) }
        }
    }

    mutating func outcomes(_ patience: Duration) async throws {
        let isThrough = try await agent.outcomes(judge, timeout: patience)
        findings.expect(isThrough, "\(round): files are not final in time\n\(agent.log)")
    }

    /// Checks the conditions that must hold after each round.
    mutating func check(isSaid: Bool) {
        for (name, state) in held {
            let sidecar = try? agent.sidecar(name)
            findings.expect(sidecar?.state == state, "\(round): \(name) is \(sidecar?.brief ?? "without a sidecar")")
        }
        let sent = heldKeys.intersection(server.store.finished)
        findings.expect(sent.isEmpty, "\(round): sent although paused or cancelled: \(sent)")
        let log = newLog
        let isNoticed = log.contains("the ledger was lost") || log.contains("the ledger was damaged") || wasRefused
        findings.expect(!isSaid || isNoticed, "\(round): the agent does not report the damage\n\(log.suffix(2000))")
    }

    private var logBytes: [UInt8] { Files.read(Array(agent.directory.path("agent.err").utf8)) ?? [] }
    private var newLog: String { String(decoding: logBytes.dropFirst(logStart), as: UTF8.self) }
}

import EndToEndSupport
import Foundation
import TestSupport

/// Applies random acts to an outbox, one after another.
struct Life {
    /// All cases are equally likely; the cases with `Again` make an act more likely.
    enum Act: String, CaseIterable {
        case drop, dropAgain, dropLarge, copy, overwrite, replace, rename, renameAgain, move, renameDirectory, remove
        case post, hidePost, showPost, showPostAgain
        case cancel, pause, resume, first, retry, pauseAll, resumeAll
        case kill, stop, start, startAgain
        case takeOutboxAway, failServer, healServer, healServerAgain, fillDisk, freeDisk, freeDiskAgain, stepClock, rest
    }

    let agent: Agent
    let server: FaultServer
    private(set) var model = LifeModel()
    private(set) var complaints: [String] = []
    private(set) var acts = 0
    private var counts: [Act: Int] = [:]
    private var history: [String] = []
    private let diary: LifeLog
    private let board: FaultBoard
    private var random: SeededRandom
    private var names = 0
    /// Posts that were moved out of the outbox, by their directory.
    private var hidden: [String: [String: String]] = [:]
    private var isRunning = true

    private static let places = ["", "a/", "a/b/", "c/", "c/d/e/"]

    init(_ context: TrialContext) throws {
        random = context.random
        diary = try LifeLog(in: context.place)
        server = try FaultServer(uploadDelay: .milliseconds(5))
        agent = try context.agent(
            remote: server.url,
            [
                "intake.rescan": "3s", "sidecars.retention": "1s", "upload.files_in_flight": 3,
                "upload.fragments_in_flight": 2,
            ])
        board = try FaultBoard(in: context.place)
        let rules: [FaultBoard.Rule] = [
            .init(.noSpace, FaultBoard.Rule.writes, calls: 1...10_000_000, of: "*/state/*"),
            .init(.noSpace, ["write", "create"], calls: 1...10_000_000, of: "*/outbox/*"),
        ]
        agent.environment.merge(board.environment(rules)) { $1 }
    }

    /// The acts in numbers, for the line of the report.
    var summary: String {
        let kills = counts[.kill] ?? 0
        return "\(acts) acts on \(names) files and posts, \(kills) kills, \(counts[.cancel] ?? 0) cancelled"
    }

    /// The last 12 acts, for the report of a failure.
    var recent: String { history.suffix(12).joined(separator: "; ") }

    /// Number of open descriptors of the agent.
    var descriptors: Int {
        guard let pid = agent.program?.pid else { return 0 }
        return (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd"))?.count ?? 0
    }

    /// Sidecars and temporary files of the agent in the outbox that belong to no existing file or post.
    var leftovers: [String] {
        Files.regularFiles(agent.outbox).filter { name in
            guard let last = name.split(separator: "/").last else { return false }
            if last.hasSuffix(".outbox.json") { return !model.explains(String(name.dropLast(".outbox.json".count))) }
            return last.hasPrefix(".outbox-") || name.hasPrefix(".outbox-")
        }.sorted()
    }

    /// Performs a random act, then waits up to 300 ms.
    mutating func act() async throws {
        if isRunning, let ending = agent.program?.ending {
            throw Surprise("the agent ended by itself: \(ending), after \(recent)\n\(agent.log)")
        }
        acts += 1
        guard let act = Act.allCases.randomElement(using: &random) else { return }
        counts[act, default: 0] += 1
        history.append(act.rawValue)
        let begun = ContinuousClock.now
        defer { diary.add(act: acts, at: begun, history.last ?? "") }
        switch act {
        case .drop, .dropAgain, .dropLarge, .copy, .overwrite, .replace: try write(act)
        case .rename, .renameAgain, .move, .renameDirectory, .remove: try change(act)
        case .post, .hidePost, .showPost, .showPostAgain: try change(postBy: act)
        case .cancel, .pause, .resume, .first, .retry, .pauseAll, .resumeAll: try await ask(act)
        default: try await disturb(act)
        }
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...300, using: &random)))
    }

    /// Ends all faults and pauses, so that all uploads and posts can finish.
    mutating func calmDown() async throws {
        server.setFaults { _, _ in nil }
        board.failing = false
        board.moveClocks(wall: 0)
        if !isRunning { try await agent.start() }
        isRunning = true
        try await Poll.until("the agent to resume everything", lastState: { agent.log }) {
            try await agent.command("resume", "--all").code == 0
        }
    }

    /// Moves the wall clock past every retention, also for outcomes recorded while the clock was ahead.
    func passRetention() { board.moveClocks(wall: 3 * 86_400) }

    /// Writes the requests that the server received, next to the log of the acts.
    func writeServerLog() throws { try diary.write(server) }

    // MARK: Files

    private mutating func newName() -> String {
        names += 1
        return (Self.places.randomElement(using: &random) ?? "") + "\(names).jpg"
    }

    private mutating func write(_ act: Act) throws {
        switch act {
        case .overwrite, .replace:
            guard let path = model.paths.randomElement(using: &random) else { return }
            let bytes = [UInt8].jpeg(Int.random(in: 500...400_000, using: &random), seed: random.next())
            if act == .overwrite {
                try agent.drop(path, bytes)
            } else {
                try agent.drop(path + ".part", bytes)
                try Files.rename(agent.path(path + ".part"), to: agent.path(path))
            }
            let key = Digest.md5(bytes)
            model.stands(key, at: path)
            log("\(path), \(key)")
        case .copy:
            let originals = model.paths.filter { model.files[$0]?.isCancelled == false }
            guard let path = originals.randomElement(using: &random), let file = model.files[path],
                let bytes = Files.read(Array(agent.path(path).utf8))
            else { return }
            let copy = newName()
            try agent.drop(copy, bytes)
            model.stands(file.key, at: copy)
            log("\(path) to \(copy), \(file.key)")
        default:
            let size = act == .dropLarge ? 2_000_000...6_000_000 : 500...900_000
            let path = newName()
            let bytes = [UInt8].jpeg(Int.random(in: size, using: &random), seed: random.next())
            try agent.drop(path, bytes)
            let key = Digest.md5(bytes)
            model.stands(key, at: path)
            log("\(path), \(key)")
        }
    }

    private mutating func change(_ act: Act) throws {
        if act == .renameDirectory { return try renameDirectory() }
        guard let path = model.paths.randomElement(using: &random) else { return }
        if act == .remove {
            agent.remove(path)
            model.removed(path)
            return log(path)
        }
        var target = newName()
        if act != .move {
            // In the same directory.
            let directory = path.lastIndex(of: "/").map { path[...$0] } ?? ""
            target = directory + (target.split(separator: "/").last.map(String.init) ?? target)
        }
        try Files.makeDirectory(URL(fileURLWithPath: agent.path(target)).deletingLastPathComponent().path)
        try Files.rename(agent.path(path), to: agent.path(target))
        model.renamed(path, to: target)
        log("\(path) to \(target)")
    }

    private mutating func renameDirectory() throws {
        guard let directory = model.directories.randomElement(using: &random) else { return }
        names += 1
        let target = "moved-\(names)"
        try Files.rename(agent.path(directory), to: agent.path(target))
        model.renamed(directory: directory, to: target)
        log("\(directory) to \(target)")
    }

    /// Makes a post, or moves a post's directory out of the outbox or back to the former place.
    private mutating func change(postBy act: Act) throws {
        switch act {
        case .post:
            names += 1
            let directory = "post-\(names)"
            var files: [String: [UInt8]] = [:]
            for number in 1...Int.random(in: 1...4, using: &random) {
                files["\(number).jpg"] = .jpeg(Int.random(in: 500...900_000, using: &random), seed: random.next())
            }
            try agent.writeSource(directory, "title = \"\(directory)\"\n", files)
            let keys = files.mapValues { Digest.md5($0) }
            model.stands(post: keys, in: directory)
            log(
                "\(directory), "
                    + keys.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
        case .hidePost:
            guard let directory = model.posts.keys.sorted().randomElement(using: &random) else { return }
            try Files.rename(agent.path(directory), to: agent.directory.path("hidden-\(directory)"))
            hidden[directory] = model.removed(post: directory)
            log(directory)
        default:
            guard let directory = hidden.keys.sorted().randomElement(using: &random),
                let files = hidden.removeValue(forKey: directory)
            else { return }
            try Files.rename(agent.directory.path("hidden-\(directory)"), to: agent.path(directory))
            model.stands(post: files, in: directory)
            log(directory)
        }
    }

    // MARK: Acts of the user

    private mutating func ask(_ act: Act) async throws {
        // The agent answers an action once durable. On a full disk, a minute of waiting ends in "try again later".
        guard isRunning, !board.failing else { return }
        switch act {
        case .pauseAll, .resumeAll:
            let output = try await agent.command(act == .pauseAll ? "pause" : "resume", "--all")
            expectSense(output, "\(act)")
        case .cancel: try await cancel()
        default:
            guard let path = model.paths.filter({ model.files[$0]?.isCancelled == false }).randomElement(using: &random)
            else { return }
            let output = try await agent.command(act.rawValue, path)
            log("\(path): \(output.ending)")
            expectSense(output, "\(act) \(path)")
        }
    }

    /// Cancels a file with a content of its own. Once the agent reports the file as cancelled, that must not change.
    private mutating func cancel() async throws {
        let paths = model.paths.filter { model.files[$0]?.isCancelled == false && !model.hasCopy($0) }
        guard let path = paths.randomElement(using: &random) else { return }
        let output = try await agent.command("cancel", path)
        log("\(path): \(output.ending)")
        expectSense(output, "cancel \(path)")
        guard output.code == 0 else { return }
        // The file may be done already, or the sidecar may not be writable now: ask `status` for the state.
        let status = try await agent.command("status", path, "--json")
        if status.standardOutput.contains("\"cancelled\"") { model.cancelled(path) }
    }

    /// A command may be refused, find no file or no agent, or come too early. Any other failure is a complaint.
    private mutating func expectSense(_ output: Program.Output, _ what: String) {
        let codes: [Int32] = [0, 1, 66, 69, 74, 75]
        if let code = output.code, codes.contains(code) { return }
        complaints.append("\(what) ended with \(output.ending): \(output.standardError)")
    }

    // MARK: Faults and time

    private mutating func disturb(_ act: Act) async throws {
        switch act {
        case .kill, .stop: try await end(act)
        case .start, .startAgain:
            guard !isRunning else { return }
            isRunning = true
            try agent.launch()
        case .takeOutboxAway:
            try await waitForStart()
            try Files.rename(agent.outbox, to: agent.outbox + ".away")
            let pause = Int.random(in: 10...4000, using: &random)
            log("\(pause) ms")
            try await Task.sleep(for: .milliseconds(pause))
            try Files.rename(agent.outbox + ".away", to: agent.outbox)
        case .failServer:
            let faults: [FaultServer.Fault] = [
                .status(503), .reset, .lostReply, .garbage, .truncated, .status(429, retryAfter: "1"),
            ]
            guard let fault = faults.randomElement(using: &random) else { return }
            let share = Int.random(in: 1...3, using: &random)
            server.setFaults { _, number in number % share == 0 ? fault : nil }
            log("\(fault) for one request in \(share)")
        case .healServer, .healServerAgain: server.setFaults { _, _ in nil }
        case .fillDisk: board.failing = true
        case .freeDisk, .freeDiskAgain: board.failing = false
        case .stepClock:
            let step: Int64 = [-86_400, 0, 3600, 86_400].randomElement(using: &random) ?? 0
            board.moveClocks(wall: step)
            log("\(step) s")
        default: try await Task.sleep(for: .milliseconds(Int.random(in: 500...4000, using: &random)))
        }
    }

    /// Waits a while for the agent to answer, if it was started: without its outbox, a start reports the problem and ends.
    private func waitForStart() async throws {
        guard isRunning else { return }
        do {
            try await Poll.until("the agent to answer", timeout: .seconds(10)) { agent.isAnswering }
        } catch is Poll.TimedOut {}
    }

    /// Frees the full disk, then ends the agent. On a full disk, the next start would report the problem and end.
    private mutating func end(_ act: Act) async throws {
        board.failing = false
        guard isRunning else { return }
        isRunning = false
        if act == .kill { return try await agent.kill() }
        guard let ending = try await agent.stop() else { return }
        // If the agent is stopped before its signal handlers are installed, the signal kills the process.
        if ending != .exited(0), ending != .killed(15) {
            complaints.append("the agent did not stop cleanly: \(ending)")
        }
    }

    private mutating func log(_ detail: String) {
        guard let last = history.popLast() else { return }
        history.append("\(last) (\(detail))")
    }
}

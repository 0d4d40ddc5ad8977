import EndToEndSupport
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// Work that a thread repeats until stopped.
private final class Loop: Sendable {
    private let isOver = Atomic(false)
    private let rounds = Atomic(0)
    private let isThrough = Atomic(false)

    var count: Int { rounds.load(ordering: .relaxed) }

    init(_ body: @escaping @Sendable (Int) -> Void) {
        let thread = Thread { [self] in
            while !isOver.load(ordering: .relaxed) {
                body(count)
                rounds.add(1, ordering: .relaxed)
            }
            isThrough.store(true, ordering: .relaxed)
        }
        thread.start()
    }

    func end() async throws {
        isOver.store(true, ordering: .relaxed)
        try await Poll.until("a loop to end") { isThrough.load(ordering: .relaxed) }
    }
}

@Suite("SIGTERM ends the agent", .heavy)
struct StopTests {
    /// Stops the agent and checks that it ends by itself, before the last resort kills it after 15 s.
    private func expectEnd(of agent: Agent) async throws {
        #expect(try await agent.stop(timeout: .seconds(60)) == .exited(0))
        #expect(agent.said("is killed") == [])
        #expect(agent.said("outbox has ended").count == 1)
    }

    private func health(of agent: Agent) -> [String: Any]? {
        guard let answer = ControlSocket.get("/v1/health", socket: agent.socket) else { return nil }
        return try? JSONSerialization.jsonObject(with: answer.body) as? [String: Any]
    }

    @Test("during a flood of file events")
    func events() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["sidecars.rejected": false])
        try await agent.start()
        let outbox = agent.outbox
        let loops = (0..<2).map { number in
            Loop { round in
                let path = "\(outbox)/\(number)-\(round)"
                try? Files.write([1], to: path)
                if round % 2 == 0 { unlink(path) }
            }
        }
        try await Poll.until("a flood") { loops.allSatisfy { $0.count > 3000 } }
        try await expectEnd(of: agent)
        for loop in loops { try await loop.end() }
    }

    @Test("while directories are renamed again and again, and until then it answers requests")
    func renames() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["sidecars.rejected": false])
        for index in 0..<3000 { try agent.drop("known/\(index).txt", [1]) }
        try Files.makeDirectory(agent.path("empty"))
        try await agent.start()
        try await Poll.until("all to be known", lastState: { agent.log }) {
            (health(of: agent)?["files"] as? [String: Int])?["rejected"] == 3000
        }
        let outbox = agent.outbox
        let loops = ["empty", "known"].map { name in
            Loop { round in
                let names = ["\(outbox)/\(name)", "\(outbox)/\(name) again"]
                rename(names[round % 2], names[(round + 1) % 2])
            }
        }
        try await Poll.until("thousands of renames") { loops.allSatisfy { $0.count > 10_000 } }
        for _ in 0..<5 { #expect(health(of: agent)?["pid"] != nil) }
        try await expectEnd(of: agent)
        for loop in loops { try await loop.end() }
    }

    @Test("while it hashes files that take minutes")
    func hashing() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.media_only": false, "intake.max_file_size": "1TB"])
        try await agent.start()
        for name in ["a", "b", "c", "d"] {
            try agent.drop(".\(name)", [])
            try #require(truncate(agent.path(".\(name)"), 100 << 30) == 0)
            try Files.rename(agent.path(".\(name)"), to: agent.path(name))
        }
        try await agent.reached("d", .hashing)
        try await expectEnd(of: agent)
    }

    @Test("during a scan")
    func scan() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        for index in 0..<10_000 { try Files.makeDirectory(agent.path("\(index % 100)/\(index)")) }
        try await agent.start()
        try await expectEnd(of: agent)
    }

    @Test("during control requests, endless event streams included")
    func control() async throws {
        let server = try FaultServer(faults: { _, _ in .status(503) })
        let agent = try Agent(remote: server.url)
        for index in 0..<200 { try agent.drop("\(index).jpg", .jpeg, size: 2000) }
        try await agent.start()
        try await agent.reached("7.jpg", .waiting)
        let socket = agent.socket
        let loops = (0..<24).map { number in
            Loop { _ in
                switch number % 4 {
                case 0: _ = ControlSocket.get("/v1/files", socket: socket)
                case 1: _ = ControlSocket.get("/v1/health", socket: socket)
                case 2: _ = ControlSocket.ask("POST", "/v1/retry", socket: socket)
                default: _ = ControlSocket.get("/v1/events", socket: socket)
                }
            }
        }
        try await Poll.until("hundreds of requests") { loops.reduce(0) { $0 + $1.count } > 300 }
        try await expectEnd(of: agent)
        for loop in loops { try await loop.end() }
    }

    @Test("while the outbox is away, or just after its return", arguments: [false, true])
    func away(isBack: Bool) async throws {
        let server = try FaultServer(faults: { _, _ in .status(503) })
        let agent = try Agent(remote: server.url)
        for index in 0..<300 { try agent.drop("\(index % 10)/\(index).jpg", .jpeg, size: 2000) }
        try await agent.start()
        try await agent.reached("9/299.jpg", .waiting)
        let away = agent.directory.path("away")
        try Files.rename(agent.outbox, to: away)
        try await agent.hasSaid("error", "outbox is gone")
        if isBack {
            try Files.rename(away, to: agent.outbox)
            try await agent.hasSaid("outbox is back")
        }
        try await expectEnd(of: agent)
    }

    @Test("while all writes to the ledger fail")
    func commits() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        let board = try FaultBoard(in: agent.directory.path)
        agent.environment.merge(
            board.environment([
                .init(.noSpace, FaultBoard.Rule.writes, calls: 1...1_000_000, of: "*/state/ledger*")
            ])
        ) { $1 }
        try await agent.start()
        let first = board.carriedOut
        board.failing = true
        for index in 0..<300 { try agent.drop("\(index).jpg", .jpeg, size: 2000) }
        try await Poll.until("a write that failed", lastState: { agent.log }) { board.carriedOut > first }
        try await expectEnd(of: agent)
        board.failing = false
        try await agent.start()
        try await agent.reached("299.jpg", .done)
    }
}

import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("A lost ledger", .agents)
struct LostLedgerTests {
    private let server: FaultServer
    private let agent: Agent
    private var ledger: String { agent.state + "/ledger.lmdb" }
    private var wholeLog: String {
        (try? String(contentsOfFile: agent.directory.path("agent.err"), encoding: .utf8)) ?? ""
    }

    init() throws {
        server = try FaultServer(tellsExisting: true)
        // Nobody listens on this port, so all files wait.
        agent = try Agent(remote: "http://127.0.0.1:1")
        agent.environment["SWIFT_BACKTRACE"] = "enable=no"
    }

    @Test("is reported, and files that are cancelled or paused in their sidecars stay so")
    func wishes() async throws {
        try await agent.start()
        let names = ["cancelled.jpg", "paused.jpg", "trip/paused.jpg", "free.jpg"]
        var keys: [String: String] = [:]
        for name in names {
            keys[name] = try agent.drop(name, .jpeg, size: 20_000)
            try await agent.reached(name, .waiting, .queued)
        }
        #expect(try await agent.command("cancel", "cancelled.jpg").code == 0)
        #expect(try await agent.command("pause", "paused.jpg", "trip/paused.jpg").code == 0)
        try await agent.reached("cancelled.jpg", .cancelled)
        for name in ["paused.jpg", "trip/paused.jpg"] { try await agent.reached(name, .paused) }
        _ = try await agent.stop()
        unlink(ledger)
        try agent.configure(["remote.url": .string(server.url)])

        let offline = try await agent.command("status")
        #expect(offline.code == 74 && offline.standardError.contains("ledger.lmdb"), "\(offline)")
        #expect(try await agent.command("doctor").standardOutput.contains("ledger.lmdb is lost"))

        for round in 1...2 {
            try await agent.start()
            try await agent.reached("free.jpg", .done)
            try await agent.reached("cancelled.jpg", .cancelled)
            for name in ["paused.jpg", "trip/paused.jpg"] { try await agent.reached(name, .paused) }
            try await Poll.until("the first scan") {
                let health = ControlSocket.get("/v1/health", socket: agent.socket)?.body ?? Data()
                return String(decoding: health, as: UTF8.self).contains("\"scanned\":true")
            }
            if round == 1 {
                #expect(wholeLog.contains("the ledger was lost"))
                #expect(try await agent.command("status").standardError.contains("was lost"))
                #expect(try await agent.command("doctor").standardOutput.contains("was lost"))
            }
            _ = try await agent.stop()
        }
        #expect(server.store.finished == [keys["free.jpg"]])
        #expect(wholeLog.components(separatedBy: "the ledger was lost").count == 2)

        // The user can still resume and retry these files.
        try await agent.start()
        #expect(try await agent.command("resume", "paused.jpg", "trip/paused.jpg").code == 0)
        #expect(try await agent.command("retry", "cancelled.jpg").code == 0)
        for name in names { try await agent.returned(name, to: .done) }
    }

    @Test("lifts no cancellation and no pause of a post")
    func posts() async throws {
        try await agent.start()
        for name in ["cancelled", "paused"] {
            try agent.writeSource(name, "title = \"\(name)\"\n", ["a.jpg": .jpeg(20_000), "b.jpg": .jpeg(20_001)])
            try await agent.reached(source: name, .queued, .uploading, .waiting)
        }
        #expect(try await agent.command("cancel", "cancelled").code == 0)
        #expect(try await agent.command("pause", "paused").code == 0)
        try await agent.reached(source: "cancelled", .cancelled)
        try await agent.reached(source: "paused", .paused)
        _ = try await agent.stop()
        unlink(ledger)
        try agent.configure(["remote.url": .string(server.url)])

        try await agent.start()
        let key = try agent.drop("witness.jpg", .jpeg, size: 3000)
        try await agent.reached("witness.jpg", .done)
        try await agent.reached(source: "cancelled", .cancelled)
        try await agent.reached(source: "paused", .paused)
        #expect(server.store.finished == [key])
        #expect(try await agent.command("resume", "paused").code == 0)
        try await agent.reached(source: "paused", .done)
        // By now, the agent would have registered a post that it wrongly resumed.
        try await agent.reached(source: "cancelled", .cancelled)
        #expect(server.store.posts.post(titled: "cancelled") == nil)
        #expect(server.store.finished.count == 3)
    }

    @Test("does not keep a cancelled file from uploading if it was overwritten")
    func overwritten() async throws {
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 20_000)
        try await agent.reached("a.jpg", .waiting, .queued)
        #expect(try await agent.command("cancel", "a.jpg").code == 0)
        try await agent.reached("a.jpg", .cancelled)
        _ = try await agent.stop()
        unlink(ledger)
        let key = try agent.drop("a.jpg", .jpeg, size: 20_001)
        try agent.configure(["remote.url": .string(server.url)])
        try await agent.start()
        try await Poll.until("the new content", lastState: { agent.log }) { server.store.finished == [key] }
    }

    @Test("does not lift pause --all, which holds new files too")
    func pauseAll() async throws {
        try await agent.start()
        #expect(try await agent.command("pause", "--all").code == 0)
        _ = try await agent.stop()
        unlink(ledger)
        try agent.configure(["remote.url": .string(server.url)])
        try await agent.start()
        try agent.drop("new.jpg", .jpeg, size: 20_000)
        try await agent.reached("new.jpg", .paused)
        #expect(try await agent.command("resume", "--all").code == 0)
        try await agent.reached("new.jpg", .done)
    }

    /// What another program does to the ledger. The trial R28 also removes and empties it.
    enum Harm: CaseIterable { case replaced, cut, overwritten }

    private func harm(_ harm: Harm) throws {
        switch harm {
        case .replaced:
            try Data(repeating: 7, count: 100_000).write(to: URL(fileURLWithPath: ledger + ".new"))
            try Files.rename(ledger + ".new", to: ledger)
        case .cut: #expect(truncate(ledger, 20_000) == 0)
        case .overwritten: try Files.patch(ledger, at: 8192, with: [UInt8](repeating: 0xA5, count: 60_000))
        }
    }

    @Test(
        "or a damaged one ends the running agent, and the log says why",
        arguments: Harm.allCases)
    func whileItRuns(_ harm: Harm) async throws {
        try agent.configure(["remote.url": .string(server.url)])
        try await agent.start()
        var keys: Set<String> = []
        keys.insert(try agent.drop("a.jpg", .jpeg, size: 20_000))
        try await agent.reached("a.jpg", .done)
        // Damage during a commit may be noticed only at the next start.
        try await Poll.until("the ledger to be at rest") {
            let attributes = try FileManager.default.attributesOfItem(atPath: ledger)
            return (attributes[.modificationDate] as? Date).map { $0.timeIntervalSinceNow < -1 } ?? false
        }
        try self.harm(harm)
        keys.insert(try agent.drop("b.jpg", .jpeg, size: 30_000))
        try await Poll.until("the agent to end", lastState: { agent.log }) { agent.program?.ending != nil }
        try await agent.start()
        for name in ["a.jpg", "b.jpg"] { try await agent.reached(name, .done) }
        #expect(try await agent.command("wait").code == 0)
        #expect(Set(server.store.finished) == keys && server.store.finished.count == 2)
        #expect(wholeLog.contains("the ledger was lost") || wholeLog.contains("the ledger was damaged"), "\(wholeLog)")
    }
}

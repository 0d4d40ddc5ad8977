import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// The trial R28 damages the files of the state directory in all ways, the unit tests of Ledger each part of the ledger.
@Suite("A damaged ledger", .agents)
struct LedgerDamageTests {
    private let server: FaultServer
    private let agent: Agent
    private var ledger: String { agent.state + "/ledger.lmdb" }

    init() async throws {
        server = try FaultServer(tellsExisting: true)
        agent = try Agent(remote: server.url)
    }

    private var aside: [String] {
        Files.tree(agent.state).filter { $0.hasPrefix("ledger.lmdb.damaged-") }
    }

    /// Uploads some files and stops.
    private func upload(_ names: Range<Int>) async throws {
        try await agent.start()
        for name in names { try agent.drop("\(name).jpg", .jpeg, size: 20_000, seed: UInt64(name)) }
        for name in names { try await agent.reached("\(name).jpg", .done) }
        _ = try await agent.stop()
    }

    @Test("keeps its confirmations if they are intact, and no file is registered again")
    func confirmations() async throws {
        try await upload(0..<5)
        var data = try Data(contentsOf: URL(fileURLWithPath: ledger))
        // Damages the magic number of the first of two heads; everything behind stays intact.
        data[16] ^= 0xFF
        try data.write(to: URL(fileURLWithPath: ledger))
        let before = server.count(.preLoad)
        try await agent.start()
        #expect(try await agent.command("wait").code == 0)
        for name in 0..<5 { try await agent.reached("\(name).jpg", .done) }
        #expect(aside.count == 1)
        #expect(server.count(.preLoad) == before, "confirmations were lost with it")
    }

    @Test("after a crash is checked at the next start, and a crash is distinguished from a kill")
    func crash() async throws {
        // Swift's backtrace of a debug build takes a minute and does not matter here.
        agent.environment["SWIFT_BACKTRACE"] = "enable=no"
        try await agent.start()
        agent.program?.kill(SIGSEGV)
        try await agent.program?.wait()
        let mark = try String(contentsOfFile: agent.state + "/ledger-mark", encoding: .utf8)
        #expect(mark.hasPrefix("crashed "))
        try await agent.start()
        try await agent.hasSaid("warning", "the last run crashed", "the agent checked the ledger, and it is sound")
        try await agent.kill()
        #expect(try String(contentsOfFile: agent.state + "/ledger-mark", encoding: .utf8).hasPrefix("running "))
    }

    @Test("after a crash is reported once, with the crash as reason and the name of the moved file")
    func crashWithDamage() async throws {
        agent.environment["SWIFT_BACKTRACE"] = "enable=no"
        try await upload(0..<2)
        try await agent.start()
        agent.program?.kill(SIGSEGV)
        try await agent.program?.wait()
        try Data(repeating: UInt8(ascii: "x"), count: 50_000).write(to: URL(fileURLWithPath: ledger))
        try agent.drop("2.jpg", .jpeg, size: 20_000, seed: 2)
        try await agent.start()
        for name in 0...2 { try await agent.reached("\(name).jpg", .done) }
        // The sidecars already said done before the damage; `wait` returns after a scan of the whole outbox.
        #expect(try await agent.command("wait").code == 0)
        #expect(aside.count == 1)
        try await agent.hasSaid("error", "the ledger was damaged", "the last run crashed; ", try #require(aside.first))
        #expect(server.finished.count == 3)
        #expect(server.store.repeated == 0)
        #expect(server.store.mixtures.isEmpty && server.store.violations.isEmpty)
        _ = try await agent.stop()
        try await agent.start()
        #expect(agent.said("the ledger was damaged").count == 1)
    }
}

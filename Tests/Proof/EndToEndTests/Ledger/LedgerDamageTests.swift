import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// TRIALS.md R19: the ledger is cut, flipped or exchanged while the agent is down, or crashes the agent.
///
/// `OUTBOX_TRIAL_LEDGER_DAMAGES` sets the number of damages, `OUTBOX_TRIAL_SEED` repeats a run.
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

    /// Restarts with one more file, and checks that nothing was lost and nothing sent twice.
    private func goesOn(_ names: Range<Int>, adding: Int, _ comment: Comment) async throws {
        try agent.drop("\(adding).jpg", .jpeg, size: 20_000, seed: UInt64(adding))
        try await agent.start()
        try await agent.reached("\(adding).jpg", .done)
        for name in names { try await agent.reached("\(name).jpg", .done) }
        // The sidecars already said done before the damage; `wait` returns after a scan of the whole outbox.
        #expect(try await agent.command("wait").code == 0, comment)
        let store = server.store
        #expect(store.repeated == 0, comment)
        #expect(Set(store.finished).count == store.finished.count, comment)
        #expect(store.mixtures.isEmpty && store.violations.isEmpty, comment)
    }

    @Test("overwritten with text is moved aside and reported once, and every file ends done")
    func text() async throws {
        try await upload(0..<5)
        try Data(repeating: UInt8(ascii: "x"), count: 50_000).write(to: URL(fileURLWithPath: ledger))
        try await goesOn(0..<5, adding: 5, "text")
        #expect(aside.count == 1)
        _ = try await agent.stop()
        try await agent.start()
        let log = try String(contentsOfFile: agent.directory.path("agent.err"), encoding: .utf8)
        #expect(log.components(separatedBy: "the ledger was damaged").count == 2)
    }

    @Test("with flipped bits or cut short loses no file, and nothing is sent twice")
    func flips() async throws {
        var trial = Trial("ledger damage")
        let damages = Trial.number("OUTBOX_TRIAL_LEDGER_DAMAGES") ?? 8
        try await upload(0..<5)
        for round in 0..<damages {
            var data = try Data(contentsOf: URL(fileURLWithPath: ledger))
            // The file has a hole of some MiB behind its used pages.
            let used = min(data.count, 400_000)
            if round % 4 == 3 {
                data = data.prefix(Int.random(in: 1..<used, using: &trial.random))
            } else {
                for _ in 0..<40 {
                    data[Int.random(in: 0..<used, using: &trial.random)] ^=
                        1 << UInt8.random(in: 0..<8, using: &trial.random)
                }
            }
            try data.write(to: URL(fileURLWithPath: ledger))
            try await goesOn(0..<(5 + round), adding: 5 + round, "round \(round), seed \(trial.seed)")
            _ = try await agent.stop()
        }
        #expect(aside.count <= 2)
    }

    @Test("with random bytes in its log of acknowledgements loses no file")
    func acknowledgements() async throws {
        var random = SeededRandom(seed: 19)
        try await upload(0..<2)
        try Data(random.bytes(5000)).write(to: URL(fileURLWithPath: agent.state + "/acknowledged"))
        try await goesOn(0..<2, adding: 2, "acknowledged")
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

    @Test("after a crash is reported with the crash as reason and the name of the moved file")
    func crashWithDamage() async throws {
        agent.environment["SWIFT_BACKTRACE"] = "enable=no"
        try await upload(0..<2)
        try await agent.start()
        agent.program?.kill(SIGSEGV)
        try await agent.program?.wait()
        try Data(repeating: UInt8(ascii: "x"), count: 50_000).write(to: URL(fileURLWithPath: ledger))
        try await goesOn(0..<2, adding: 2, "crash with damage")
        try await agent.hasSaid("error", "the ledger was damaged", "the last run crashed; ", try #require(aside.first))
    }
}

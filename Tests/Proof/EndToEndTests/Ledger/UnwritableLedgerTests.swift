import EndToEndSupport
import TestSupport
import Testing

@Suite("A ledger that can't be written at the start", .agents)
struct UnwritableLedgerTests {
    @Test("makes commands fail with the reason, and the agent starts once the ledger can be written")
    func start() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        let board = try FaultBoard(in: agent.directory.path)
        agent.environment.merge(
            board.environment([
                .init(.noSpace, FaultBoard.Rule.writes, calls: 1...1_000_000, of: "*/state/ledger.lmdb")
            ])
        ) { $1 }
        try await agent.start()
        let first = try agent.drop("first.jpg", .jpeg, size: 2000)
        try await agent.reached("first.jpg", .done)
        try await agent.stop()

        board.failing = true
        let second = try agent.drop("second.jpg", .jpeg, size: 3000)
        try agent.launch()
        try await Poll.until("the reason", lastState: { agent.log }) {
            let output = try await agent.command("status")
            return output.code == 74 && output.standardError.contains("the agent cannot start yet: ")
                && output.standardError.contains("free space")
        }
        #expect(try await agent.command("pause", "--all").code == 74)
        #expect(try await agent.command("avatar", "list").code == 74)
        let doctor = try await agent.command("doctor").standardOutput
        #expect(doctor.contains("the agent cannot start yet: ") && !doctor.contains("kill "), "\(doctor)")
        #expect(server.finished == [first])

        board.failing = false
        try await agent.reached("second.jpg", .done)
        #expect(try await agent.command("status").code == 0)
        expectClean(server, finished: [first, second])
    }
}

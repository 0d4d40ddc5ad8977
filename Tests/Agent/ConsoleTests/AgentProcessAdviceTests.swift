import AgentConfiguration
import Testing

@testable import Console

@Suite("Advice about other agents")
struct AgentProcessAdviceTests {
    private func agent(_ pid: Int32, user: UInt32, config: String? = nil) throws -> AgentProcess {
        let words = ["outbox", "run"] + (config.map { ["--config", $0] } ?? [])
        return try #require(
            AgentProcess(pid: pid, user: user, commandLine: words.joined(separator: "\0"), cgroup: nil))
    }

    @Test("sudo outbox status names the agents that run, those of whoever called sudo first")
    func others() throws {
        // Ids that no user database has.
        let agents = try [
            agent(1, user: 4_000_001), agent(2, user: 4_000_002, config: "/my c.toml"), agent(3, user: 4_000_001),
            agent(4, user: 4_000_001),
        ]
        let lines = AgentProcess.advice(agents, user: 0, invoker: 4_000_002)
        #expect(
            lines == [
                "an agent of user id 4000002 runs (pid 2): sudo -u '#4000002' outbox status --config '/my c.toml'",
                "an agent of user id 4000001 runs (pid 1): sudo -u '#4000001' outbox status",
                "an agent of user id 4000001 runs (pid 3): sudo -u '#4000001' outbox status",
                "and 1 more agent; `pgrep -af 'outbox run'` lists them",
            ])
    }

    @Test("another agent of one's own is asked with its configuration")
    func own() throws {
        let lines = AgentProcess.advice([try agent(1, user: 4_000_001, config: "/c.toml")], user: 4_000_001)
        #expect(lines == ["another agent of yours runs (pid 1): outbox status --config /c.toml"])
        #expect(AgentProcess.advice([], user: 0).isEmpty)
    }
}

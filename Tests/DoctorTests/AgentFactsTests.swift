import Reports
import Testing

@testable import Doctor

struct AgentFactsTests {
    private let health = AgentHealth(
        pid: 42, version: "1.0", uptime: 90, paused: false, scanned: true, active: 3, problems: [])

    private func findings(_ answer: AgentFacts.Answer, lock: Int32? = nil) -> [Finding] {
        AgentFacts(socket: "/s", answer: answer, lockHolder: lock).findings
    }

    @Test func `a running agent is fine`() {
        let found = findings(.healthy(health), lock: 42)
        #expect(found.map(\.level) == [.ok])
        #expect(found[0].message.contains("42"))
    }

    @Test func `its own problems are warnings`() {
        var health = health
        health.problems = ["the disk is full", "watches ran out"]
        let found = findings(.healthy(health))
        #expect(found.map(\.level) == [.ok, .warning, .warning])
        #expect(found[1].message.contains("the disk is full"))
    }

    @Test func `a pause is said with the way out of it`() {
        var health = health
        health.paused = true
        #expect(findings(.healthy(health))[0].remedy == "outbox resume --all")
    }

    @Test func `no agent is a note`() {
        #expect(findings(.notRunning).map(\.level) == [.note])
    }

    @Test func `an agent that cannot start says why, and need not be killed`() {
        let reason = "the agent cannot start yet: the disk is full; free space"
        let found = findings(.hindered(reason), lock: 42)
        #expect(found == [Finding(.agent, .warning, reason)])
    }

    @Test(arguments: [AgentFacts.Answer.notRunning, .failed("no sense"), .late])
    func `an agent that holds its lock and does not answer is a warning with its pid`(answer: AgentFacts.Answer) {
        let found = findings(answer, lock: 42)
        #expect(found.map(\.level) == [.warning])
        #expect(found[0].message.contains("42"))
    }
}

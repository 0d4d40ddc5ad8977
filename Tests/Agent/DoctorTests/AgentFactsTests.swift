import Foundation
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

    @Test func `a pause of everything stops uploads, and is said with the way out of it`() {
        var health = health
        health.paused = true
        let finding = findings(.healthy(health)).first { $0.level == .stop }
        #expect(finding?.remedy == "outbox resume --all")
    }

    @Test(arguments: [
        ("outbox", Finding.Level.stop), ("server", .stop), ("session", .stop), ("ledger", .stop),
        ("sidecars", .warning), ("dashboard", .warning),
    ])
    func `a problem that keeps files from the server stops uploads, another one is a warning`(
        code: String, level: Finding.Level
    ) {
        var health = health
        health.attention = [Attention(code: code, message: "m", since: "2026-11-21T09:30:00.123Z")]
        #expect(findings(.healthy(health)).map(\.level) == [.ok, level])
    }

    @Test func `a file that can't be read stops uploads, and is named`() throws {
        var facts = AgentFacts(socket: "/s", answer: .healthy(health), lockHolder: 42)
        facts.failed = ([try failed("a.jpg", "server_refused"), try failed("b.jpg", "unreadable")], 7)
        let finding = try #require(facts.findings.last)
        #expect(finding.check == .files && finding.level == .stop, "\(finding)")
        #expect(finding.message == "b.jpg failed: because of unreadable, and 6 other files failed")

        facts.failed = ([try failed("a.jpg", "server_refused")], 1)
        #expect(facts.findings.last?.level == .warning)
        #expect(facts.findings.last?.message == "a.jpg failed: because of server_refused")
    }

    private func failed(_ path: String, _ code: String) throws -> FileEntry {
        let text = """
            {"id": "i", "path": "\(path)", "state": "failed", "progress": 0, "remote": {"protocol": "tus"},
             "deduplicated": false, "attempts": 1, "accepted_at": "2026-11-21T09:30:00.123Z",
             "error": {"code": "\(code)", "message": "because of \(code)", "retryable": false}}
            """
        return try JSONDecoder().decode(FileEntry.self, from: Data(text.utf8))
    }

    @Test func `what only the agent can read, such as a credential of its service, is no problem`() {
        let stops = [
            Finding(.token, .stop, "token_file /run/credentials/x can't be read"),
            Finding(.credentials, .stop, "the server requires a token, but there is none (401)"),
            Finding(.server, .ok, "speaks fileSection"),
        ]
        var health = health
        health.attention = []
        let agent = AgentFacts(socket: "/s", answer: .healthy(health), lockHolder: 42)
        #expect(agent.correct(stops, hasCredential: false).map(\.level) == [.note, .note, .ok])
        #expect(agent.correct(stops, hasCredential: true) == stops, "the server refuses the agent's own token")

        health.attention = [Attention(code: "server", message: "401", since: "2026-11-21T09:30:00.123Z")]
        let refused = AgentFacts(socket: "/s", answer: .healthy(health), lockHolder: 42)
        #expect(refused.correct(stops, hasCredential: false) == stops)
        let none = AgentFacts(socket: "/s", answer: .notRunning, lockHolder: nil)
        #expect(none.correct(stops, hasCredential: false) == stops)
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

import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("Accounts", .agents)
struct AccountTests {
    private func login(_ user: String, _ token: String, _ agent: Agent) async throws {
        let file = agent.directory.path("token-\(user)")
        try "\(token)\n".write(toFile: file, atomically: true, encoding: .utf8)
        let output = try await agent.command("login", "--user", user, "--token-file", file)
        #expect(output.code == 0, "\(output)")
    }

    private func stored(_ user: String, in receiver: Receiver) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(receiver.root)/files/\(user)")) ?? []).sorted()
    }

    @Test("what one account's server confirmed does not count for another's, and the agent goes on in the same process")
    func change() async throws {
        let receiver = try Receiver()
        receiver.environment["OUTBOX_RECEIVER_TOKENS"] = "for-anna anna\nfor-ben ben"
        try await receiver.start()
        let agent = try Agent(remote: receiver.url)
        try await agent.start()
        try await login("anna", "for-anna", agent)
        let key = try agent.drop("sea.jpg", .jpeg, size: 5000)
        try await agent.reached("sea.jpg", .done)
        #expect(stored("anna", in: receiver) == ["sea.jpg"])

        try await login("ben", "for-ben", agent)
        try await Poll.until("Ben's server to have it, too") { stored("ben", in: receiver) == ["sea.jpg"] }
        let sidecar = try await agent.reached("sea.jpg", .done)
        #expect(sidecar.key == key)
        #expect(agent.program?.ending == nil)
        #expect(try await agent.stop() == .exited(0))
    }
}

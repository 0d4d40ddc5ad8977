import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("Credentials", .agents)
struct CredentialTests {
    private func agent(for server: FaultServer, token: String?, _ settings: Settings = [:]) throws -> Agent {
        let agent = try Agent(remote: server.url, settings.merging(["remote.token_file": "token"]) { $1 })
        if let token { try write(token, for: agent) }
        return agent
    }

    private func write(_ token: String, for agent: Agent) throws {
        try "\(token)\n".write(toFile: agent.directory.path("token"), atomically: true, encoding: .utf8)
    }

    @Test("from token_file are sent as a bearer token with every request")
    func bearer() async throws {
        let server = try FaultServer(token: "sesame")
        let agent = try agent(for: server, token: "sesame")
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 700_000)
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
        #expect(Set(server.records.map(\.authorization)) == ["Bearer sesame"])
    }

    @Test("from OUTBOX_TOKEN take precedence over token_file")
    func environmentFirst() async throws {
        let server = try FaultServer(token: "from-environment")
        let agent = try Agent(
            remote: server.url, ["remote.token_file": "token"], environment: ["OUTBOX_TOKEN": "from-environment"])
        try write("from-file", for: agent)
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)
    }

    @Test(
        "that are missing or refused make all files signed_out, and new ones in token_file resume them at once",
        arguments: [nil, "old"])
    func refused(old: String?) async throws {
        let server = try FaultServer(token: "new")
        // The agent would try again only after the deadline of this test.
        let agent = try agent(for: server, token: old, ["upload.retry_interval": "10m"])
        try await agent.start()
        let keys = [try agent.drop("a.jpg", .jpeg, size: 2000), try agent.drop("b.jpg", .jpeg, size: 700_000)]

        for name in ["a.jpg", "b.jpg"] {
            #expect(try await agent.reached(name, .signedOut).error != nil)
        }
        try write("new", for: agent)

        for name in ["a.jpg", "b.jpg"] { try await agent.reached(name, .done) }
        expectClean(server, finished: keys)
    }
}

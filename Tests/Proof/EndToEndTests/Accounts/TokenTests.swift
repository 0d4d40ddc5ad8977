import EndToEndSupport
import TestSupport
import Testing

@Suite("A token over plain http", .agents)
struct TokenTests {
    @Test("goes to localhost")
    func localhost() async throws {
        let server = try FaultServer(token: "sesame")
        let agent = try Agent(remote: "http://localhost:\(server.port)", environment: ["OUTBOX_TOKEN": "sesame"])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
    }

    @Test("may go to any loopback address", arguments: ["127.0.0.2", "[::1]", "LOCALHOST"])
    func loopback(host: String) async throws {
        let agent = try Agent(remote: "http://\(host):9", environment: ["OUTBOX_TOKEN": "sesame"])
        let check = try await agent.command("config", "check")
        #expect(check.code == 0, "\(check.standardError)")
        try await agent.start()
    }

    @Test(
        "goes nowhere else, and the agent does not start",
        arguments: [
            "localhost.example.invalid", "localhost-2.invalid", "127.0.0.1.invalid", "128.0.0.1", "127.1", "0.0.0.0",
            "192.0.2.1",
        ])
    func elsewhere(host: String) async throws {
        let agent = try Agent(remote: "http://\(host):8787", environment: ["OUTBOX_TOKEN": "sesame"])
        try agent.launch()
        #expect(try await agent.program?.wait() == .exited(78))
        #expect(agent.program?.standardError.contains("sesame") == false)
    }
}

import EndToEndSupport
import TestSupport
import Testing

/// The unit tests of URLs know more hosts that are loopback, and more that only look so.
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

    @Test("goes nowhere else, and the agent does not start")
    func elsewhere() async throws {
        let agent = try Agent(
            remote: "http://localhost.example.invalid:8787", environment: ["OUTBOX_TOKEN": "sesame"])
        try agent.launch()
        #expect(try await agent.program?.wait() == .exited(78))
        #expect(agent.program?.standardError.contains("sesame") == false)
    }
}

import EndToEndSupport
import TestSupport
import Testing

@Suite("TLS", .agents, .enabled(if: TLSFront.isPossible, "openssl or python3 is not installed"))
struct TLSTests {
    @Test("accepts a certificate of the authority in ca_file")
    func ownAuthority() async throws {
        let server = try FaultServer(token: "sesame")
        let front = try await TLSFront(before: server.port)
        let agent = try Agent(
            remote: "https://127.0.0.1:\(front.port)", ["remote.ca_file": .string(front.authority)],
            environment: ["OUTBOX_TOKEN": "sesame"])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 3_000_000)
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
    }

    @Test("refuses a certificate of an unknown authority before anything is sent")
    func unknownAuthority() async throws {
        let server = try FaultServer()
        let front = try await TLSFront(before: server.port)
        let agent = try Agent(remote: "https://127.0.0.1:\(front.port)", environment: ["OUTBOX_TOKEN": "sesame"])
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        let waiting = try await agent.reached("a.jpg", .waiting)
        #expect(waiting.error?.code == "tls")
        #expect(waiting.error?.retryable == true)
        #expect(server.records.isEmpty)
    }

    @Test(
        "with an invalid certificate makes the file wait until the certificate is valid",
        arguments: [
            ("IP:127.0.0.1", TLSFront.Validity.expired, "expired"), ("IP:127.0.0.1", .notYet, "not yet valid"),
            ("DNS:other.invalid", .now, "127.0.0.1"),
        ])
    func invalid(names: String, validity: TLSFront.Validity, word: String) async throws {
        let server = try FaultServer()
        let front = try await TLSFront(before: server.port, names: names, validity: validity)
        let agent = try Agent(
            remote: "https://127.0.0.1:\(front.port)", ["remote.ca_file": .string(front.authority)])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 2000)
        let waiting = try await agent.reached("a.jpg", .waiting)
        #expect(waiting.error?.code == "tls")
        #expect(waiting.error?.message.contains(word) == true, "\(String(describing: waiting.error))")
        #expect(server.records.isEmpty)

        try await front.use(names: "IP:127.0.0.1", validity: .now)
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
    }
}

import EndToEndSupport
import TestSupport
import Testing

@Suite("A proxy", .agents)
struct ProxyTests {
    @Test("in http_proxy carries uploads to a server that only the proxy can resolve")
    func plain() async throws {
        let server = try FaultServer()
        let proxy = try ForwardProxy(targets: ["upload.invalid:8787": server.port])
        defer { proxy.stop() }
        let agent = try Agent(remote: "http://upload.invalid:8787", environment: ["http_proxy": proxy.url])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 3_000_000)
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
        #expect(proxy.heads.count >= 3)
    }

    @Test("tunnels https, and sees neither token nor header fields")
    func tunnel() async throws {
        try #require(TLSFront.isPossible, "openssl or python3 is not installed")
        let server = try FaultServer(token: "sesame")
        let front = try await TLSFront(before: server.port, names: "DNS:upload.invalid")
        let proxy = try ForwardProxy(targets: ["upload.invalid:443": front.port])
        defer { proxy.stop() }
        let agent = try Agent(
            remote: "https://upload.invalid", ["remote.ca_file": .string(front.authority)],
            environment: ["https_proxy": proxy.url, "OUTBOX_TOKEN": "sesame"])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 3_000_000)
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
        #expect(!proxy.heads.isEmpty)
        for head in proxy.heads {
            #expect(head.hasPrefix("CONNECT upload.invalid:443 "))
            #expect(!head.contains("sesame") && !head.contains("file_block"))
        }
    }

    @Test("that refuses the tunnel makes the file wait", arguments: [407, 403, 502])
    func refused(status: Int) async throws {
        let proxy = try ForwardProxy(targets: [:], tunnelStatus: status)
        defer { proxy.stop() }
        let agent = try Agent(remote: "https://upload.invalid", environment: ["https_proxy": proxy.url])
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        let waiting = try await agent.reached("a.jpg", .waiting)
        #expect(waiting.error?.retryable == true)
        #expect(waiting.error?.message.contains("\(status)") == true, "\(String(describing: waiting.error))")
    }

    @Test("gets no requests for a loopback address, whatever http_proxy and ALL_PROXY say")
    func loopback() async throws {
        let server = try FaultServer(token: "sesame")
        let proxy = try ForwardProxy(targets: ["127.0.0.1:\(server.port)": server.port])
        defer { proxy.stop() }
        let agent = try Agent(
            remote: server.url,
            environment: ["http_proxy": proxy.url, "ALL_PROXY": proxy.url, "OUTBOX_TOKEN": "sesame"])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
        #expect(proxy.heads == [])
    }

    @Test("gets the token for a plain http server only with insecure_http")
    func token() async throws {
        let server = try FaultServer(token: "sesame")
        let proxy = try ForwardProxy(targets: ["upload.invalid:8787": server.port])
        defer { proxy.stop() }
        let environment = ["http_proxy": proxy.url, "OUTBOX_TOKEN": "sesame"]
        let agent = try Agent(remote: "http://upload.invalid:8787", environment: environment)
        try agent.launch()
        #expect(try await agent.program?.wait() == .exited(78))
        #expect(proxy.heads == [])

        try agent.configure(["remote.insecure_http": true])
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)
        #expect(proxy.heads.allSatisfy { $0.contains("Bearer sesame") })
    }

    @Test("gets no token from outbox doctor either", arguments: ["filesection", "tus"])
    func doctor(protocolName: String) async throws {
        let server = try TusServer()
        let proxy = try ForwardProxy(targets: ["upload.invalid:8787": server.port])
        defer { proxy.stop() }
        let patient = try Patient(
            "http://upload.invalid:8787/files", ["remote.protocol": .string(protocolName)],
            environment: ["http_proxy": proxy.url, "OUTBOX_TOKEN": "sesame"])
        _ = try await patient.visit()
        #expect(!proxy.heads.isEmpty)
        #expect(!proxy.heads.contains { $0.contains("sesame") })
    }
}

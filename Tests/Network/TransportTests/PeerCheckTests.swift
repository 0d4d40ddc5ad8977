import HTTPTypes
import Synchronization
import TestSupport
import Testing
import URLs

@testable import Transport

@Suite(.timeLimit(.minutes(2)))
struct PeerCheckTests {
    private static func get(_ url: String, _ mayConnect: @escaping @Sendable (String) -> Bool) -> TransportRequest {
        TransportRequest(method: .get, url: url, mayConnect: mayConnect)
    }

    @Test func `an allowed address is asked about and connected to`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            let asked = Mutex<Set<String>>([])
            let reply = try await transport.send(
                Self.get(server.url) { address in
                    asked.withLock { _ = $0.insert(address) }
                    return true
                })
            #expect(reply.status == 200)
            #expect(asked.withLock { $0 } == ["127.0.0.1"])
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `a refused address is never connected to, whatever its name`(host: String) async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            let request = Self.get("http://\(host):\(server.port)/") { _ in false }
            #expect(await failure(of: request, over: transport)?.kind == "refusedAddress")
            #expect(server.acceptedConnections == 0)
        }
    }

    @Test func `a name with one allowed address is reached there`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            let request = Self.get("http://localhost:\(server.port)/") { $0 != "::1" }
            let reply = try await transport.send(request)
            #expect(reply.status == 200)
        }
    }

    @Test func `a connection somebody else made is checked before it is used again`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            _ = try await transport.send(.get(server.url))
            #expect(await failure(of: Self.get(server.url) { _ in false }, over: transport)?.kind == "refusedAddress")
            #expect(server.startedRequests == 1)
        }
    }

    @Test func `an allowed address that refuses the connection is not called refused by us`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        server.stop()
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        #expect(await failure(of: Self.get(server.url) { _ in true }, over: transport)?.kind == "connect")
    }
}

struct ProxyEnvironmentTests {
    private func proxy(for url: String, _ variables: [String: String]) -> String? {
        WebURL(url).flatMap { ProxyEnvironment { variables[$0] }.proxy(for: $0)?.url }
    }

    @Test(
        arguments: [
            ("http://a.example/", ["http_proxy": "http://p:1"], "http://p:1"),
            ("HTTP://a.example/", ["http_proxy": "http://p:1"], "http://p:1"),
            ("http://a.example/", ["HTTP_PROXY": "http://p:1"], nil),
            ("http://a.example/", ["https_proxy": "http://p:1"], nil),
            ("https://a.example/", ["HTTPS_PROXY": "http://p:1"], "http://p:1"),
            ("https://a.example/", ["ALL_PROXY": "http://p:1"], "http://p:1"),
            ("https://a.example/", ["https_proxy": "http://p:1", "all_proxy": "http://q:1"], "http://p:1"),
            ("http://a.example/", ["http_proxy": "http://p:1", "no_proxy": "*"], nil),
            ("http://a.example/", ["http_proxy": "http://p:1", "no_proxy": "b.example, example"], nil),
            ("http://a.example:80/x", ["http_proxy": "http://p:1", "NO_PROXY": ".A.example"], nil),
            ("http://a.example", ["http_proxy": "http://p:1", "no_proxy": "xample"], "http://p:1"),
            ("http://u@10.0.0.1:8/", ["http_proxy": "http://p:1", "no_proxy": "10.0.0.1"], nil),
            ("http://[fe80::1]:8/", ["http_proxy": "http://p:1", "no_proxy": "[fe80::1]"], nil),
            ("http://127.0.0.1:8/", ["http_proxy": "http://p:1"], nil),
            ("http://a.example/", [:], nil),
        ] as [(String, [String: String], String?)])
    func `the proxy is that of the environment`(url: String, variables: [String: String], expected: String?) {
        #expect(proxy(for: url, variables) == expected)
    }
}

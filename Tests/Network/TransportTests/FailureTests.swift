import HTTPTypes
import TestSupport
import Testing
import Transport
import URLs

@Suite(.timeLimit(.minutes(2)))
struct FailureTests {
    struct Misreply: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let kind: String
        let reply: ScriptedServer.Reply
    }

    static let misreplies = [
        Misreply(testDescription: "a reset connection", kind: "reset", reply: .reset),
        Misreply(testDescription: "a lost reply", kind: "reset", reply: .close),
        Misreply(
            testDescription: "half a body", kind: "reset",
            reply: .truncated(status: 200, promised: 100, body: [1, 2, 3])),
        Misreply(testDescription: "no HTTP", kind: "badReply", reply: .raw(Array("what is this\r\n\r\n".utf8))),
        Misreply(
            testDescription: "a length over the limit", kind: "replyTooLong",
            reply: .response(status: 200, body: Array(repeating: 0, count: 101))),
        Misreply(
            testDescription: "an endless body", kind: "replyTooLong",
            reply: .raw(Array("HTTP/1.1 200 OK\r\n\r\n".utf8) + Array(repeating: 0x20, count: 101))),
        Misreply(
            testDescription: "a huge header", kind: "replyTooLong",
            reply: .response(status: 200, headers: [("X-Long", String(repeating: "x", count: 70_000))])),
    ]

    @Test(arguments: misreplies)
    func `a reply that is none has its class of error`(misreply: Misreply) async throws {
        let server = try ScriptedServer { _ in misreply.reply }
        try await withTransport(server) { transport in
            var request = TransportRequest.post(server.url, .bytes([1]))
            request.maximumReplyLength = 100
            let error = await failure(of: request, over: transport)
            #expect(error?.kind == misreply.kind, "\(String(describing: error))")
        }
    }

    @Test func `a reply as long as allowed is taken`() async throws {
        let server = try ScriptedServer { _ in .response(status: 200, body: Array(repeating: 7, count: 100)) }
        try await withTransport(server) { transport in
            var request = TransportRequest.get(server.url)
            request.maximumReplyLength = 100
            let reply = try await transport.send(request)
            #expect(reply.body.count == 100)
        }
    }

    @Test func `a port nobody listens on refuses the connection`() async throws {
        let server = try ScriptedServer { _ in .close }
        server.stop()
        try await withTransport(server) { transport in
            let error = await failure(of: .get(server.url), over: transport)
            #expect(error?.kind == "connect")
        }
    }

    @Test func `a server that comes back on its port is found again`() async throws {
        let first = try ScriptedServer { _ in .json("1") }
        try await withTransport(first) { transport in
            _ = try await transport.send(.get(first.url))
            first.stop()
            #expect(await failure(of: .get(first.url), over: transport)?.kind == "connect")
            let second = try ScriptedServer(port: first.port) { _ in .json("2") }
            let reply = try await transport.send(.get(first.url))
            #expect(reply.body == Array("2".utf8))
            second.stop()
        }
    }

    @Test func `a name without an address is told as such`() async throws {
        let transport = try CurlTransport()
        let error = await failure(of: .get("http://name.invalid/"), over: transport)
        #expect(error?.kind == "resolve")
        #expect(error?.description.contains("name.invalid") == true)
        transport.shutdown()
    }

    @Test(arguments: [
        "", "127.0.0.1", "ftp://127.0.0.1/", "file:///etc/hostname", "http:/127.0.0.1", "http://", "http://a b/",
        "http://127.0.0.1:99999/", "http://127.0.0.1/\r\nX: y", "http://127.0.0.1/\0",
    ])
    func `only http and https URLs are taken`(url: String) async throws {
        let transport = try CurlTransport()
        #expect(await failure(of: .get(url), over: transport)?.kind == "badURL")
        transport.shutdown()
    }

    @Test(arguments: [
        ("X-Name", "a\r\nX-Injected: 1"), ("X-Name", "a\nb"), ("X-Name", "a\rb"), ("X-Name", "a\0b"), ("X-Name", " a"),
        ("X-Na\r\nme", "a"), ("X Name", "a"), ("X:Name", "a"), ("", "a"), (":method", "a"),
    ])
    func `fields that hold what no field may are refused, not changed`(name: String, value: String) {
        var fields = HTTPFields()
        let error = #expect(throws: TransportError.self) { try fields.add(name, value) }
        #expect(error?.kind == "badRequest")
        #expect(fields.isEmpty)
    }

    @Test func `a field made without that check can't bring another one`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            var request = TransportRequest.get(server.url)
            request.headers = [.accept: "a\r\nX-Injected: 1\0"]
            _ = try await transport.send(request)
            #expect(server.requests[0].header("X-Injected") == nil)
            #expect(server.requests[0].header("Accept") == "a  X-Injected: 1")
        }
    }

    @Test(arguments: [HTTPField.Name.contentLength, .transferEncoding, .expect])
    func `fields that would change the request's shape are refused unsent`(name: HTTPField.Name) async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            var request = TransportRequest.get(server.url)
            request.headers = [name: "3"]
            #expect(await failure(of: request, over: transport)?.kind == "badRequest")
            #expect(server.acceptedConnections == 0)
        }
    }

    @Test func `a part's type cannot bring fields of its own`() async throws {
        let transport = try CurlTransport()
        let part = MultipartPart(name: "p", contentType: "image/png\r\nX: y", source: TextBody(""))
        let error = await failure(of: .post("http://127.0.0.1:1/", .multipart([part])), over: transport)
        #expect(error?.kind == "badRequest")
        transport.shutdown()
    }

    @Test func `no message tells the value of a field`() async throws {
        let transport = try CurlTransport()
        var request = TransportRequest.get("http://127.0.0.1:1/")
        let refused = #expect(throws: TransportError.self) {
            try request.headers.add("Authorization", "Bearer secret\n")
        }
        try request.headers.add("Authorization", "Bearer secret")
        request.credentialsOrigin = WebOrigin(request.url)
        let failed = await failure(of: request, over: transport)
        #expect(refused?.description.contains("secret") == false)
        #expect(failed?.description.contains("secret") == false)
        transport.shutdown()
    }
}

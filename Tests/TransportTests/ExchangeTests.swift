import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(2)))
struct ExchangeTests {
    @Test func `status, fields and body of a reply arrive as they were sent`() async throws {
        let server = try ScriptedServer { _ in
            .response(status: 418, headers: [("X-Word", " tea "), ("x-word", "pot")], body: Array("short".utf8))
        }
        try await withTransport(server) { transport in
            let reply = try await transport.send(.get(server.url + "/a/../b?c=%2F"))
            #expect(reply.status == 418)
            #expect(reply.headers["X-WORD"] == "tea")
            #expect(reply.headers.values(of: "x-Word") == ["tea", "pot"])
            #expect(reply.headers["X-Other"] == nil)
            #expect(reply.body == Array("short".utf8))
            #expect(server.requests[0].target == "/a/../b?c=%2F")
        }
    }

    @Test func `a request carries its fields, the user agent, and no Expect`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server, .init(userAgent: "outbox/1")) { transport in
            var request = HTTPRequest.post(server.url, .stream(PatternBody(2 << 20)))
            request.headers = [("Authorization", "Bearer t"), ("file_block", "[]"), ("X-Empty", "")]
            _ = try await transport.send(request)
            let seen = server.requests[0]
            #expect(seen.header("Authorization") == "Bearer t")
            #expect(seen.header("file_block") == "[]")
            #expect(seen.header("X-Empty") == "")
            #expect(seen.header("User-Agent") == "outbox/1")
            #expect(seen.header("Expect") == nil)
            #expect(seen.header("Accept-Encoding") == nil)
            #expect(seen.header("Content-Length") == "\(2 << 20)")
            #expect(seen.header("Content-Type") == nil)
            #expect(seen.bodyLength == 2 << 20)
        }
    }

    @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "PROPFIND"])
    func `any method can carry a body`(method: String) async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            _ = try await transport.send(
                HTTPRequest(method: method, url: server.url, body: .bytes(Array("abc".utf8))))
            #expect(server.requests[0].method == method)
            #expect(server.requests[0].text == "abc")
        }
    }

    @Test func `a POST without a body says that its length is zero`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            _ = try await transport.send(.post(server.url, .none))
            _ = try await transport.send(.post(server.url, .bytes([])))
            #expect(server.requests.map { $0.header("Content-Length") } == ["0", "0"])
        }
    }

    @Test func `a GET has no body and no length`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            _ = try await transport.send(.get(server.url))
            #expect(server.requests[0].header("Content-Length") == nil)
        }
    }

    @Test func `the reply to a HEAD ends after its header`() async throws {
        let server = try ScriptedServer { _ in .response(status: 200, body: Array("abc".utf8)) }
        try await withTransport(server) { transport in
            let reply = try await transport.send(HTTPRequest(method: "HEAD", url: server.url))
            #expect(reply.headers["Content-Length"] == "3")
            #expect(reply.body.isEmpty)
        }
    }

    @Test func `one connection serves requests that follow each other`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            for _ in 0..<5 { _ = try await transport.send(.post(server.url, .bytes([1, 2, 3]))) }
            #expect(server.requests.map(\.connection) == [0, 0, 0, 0, 0])
        }
    }

    @Test func `redirects are handed back, never followed`() async throws {
        let server = try ScriptedServer { _ in .response(status: 302, headers: [("Location", "/elsewhere")]) }
        try await withTransport(server) { transport in
            let reply = try await transport.send(.get(server.url + "/here"))
            #expect(reply.status == 302)
            #expect(reply.headers["Location"] == "/elsewhere")
            #expect(server.requests.map(\.target) == ["/here"])
        }
    }

    @Test func `interim replies are skipped, with their fields`() async throws {
        let text = "HTTP/1.1 103 Early\r\nX-A: 1\r\n\r\nHTTP/1.1 200 OK\r\nX-B: 2\r\nContent-Length: 2\r\n\r\nok"
        let server = try ScriptedServer { _ in .raw(Array(text.utf8)) }
        try await withTransport(server) { transport in
            let reply = try await transport.send(.get(server.url))
            #expect(reply.status == 200)
            #expect(reply.headers["X-A"] == nil)
            #expect(reply.headers["X-B"] == "2")
            #expect(reply.body == Array("ok".utf8))
        }
    }

    @Test func `two hundred requests at once all get their own reply`() async throws {
        let server = try ScriptedServer { request in .json(request.target) }
        try await withTransport(server, .init(maximumConnections: 200)) { transport in
            let replies = try await withThrowingTaskGroup { group in
                for number in 0..<200 {
                    group.addTask {
                        let body = PatternBody(UInt64(number * 100))
                        let reply = try await transport.send(.post(server.url + "/\(number)", .stream(body)))
                        return (number, String(decoding: reply.body, as: UTF8.self))
                    }
                }
                return try await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
            }
            #expect(replies.count == 200)
            #expect(replies.allSatisfy { $0.value == "/\($0.key)" })
            #expect(server.requests.allSatisfy { $0.target == "/\($0.bodyLength / 100)" })
        }
    }

    @Test func `more requests than connections wait for their turn`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server, .init(maximumConnections: 2)) { transport in
            try await withThrowingTaskGroup { group in
                for _ in 0..<20 {
                    group.addTask { _ = try await transport.send(.post(server.url, .stream(PatternBody(10_000)))) }
                }
                try await group.waitForAll()
            }
            #expect(server.requests.count == 20)
            #expect(server.acceptedConnections <= 2)
        }
    }
}

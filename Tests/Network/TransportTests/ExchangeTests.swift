import HTTPTypes
import TestSupport
import Testing
import Transport
import URLs

@Suite(.timeLimit(.minutes(2)))
struct ExchangeTests {
    @Test func `status, fields and body of a reply arrive as they were sent`() async throws {
        let server = try ScriptedServer { _ in
            .response(status: 418, headers: [("X-Word", " tea "), ("x-word", "pot")], body: Array("short".utf8))
        }
        try await withTransport(server) { transport in
            let reply = try await transport.send(.get(server.url + "/a/../b?c=%2F"))
            #expect(reply.status == 418)
            let word = try #require(HTTPField.Name("x-WORD"))
            #expect(reply.headers.first(word) == "tea")
            #expect(reply.headers[values: word] == ["tea", "pot"])
            #expect(reply.headers.first(.location) == nil)
            #expect(reply.body == Array("short".utf8))
            #expect(server.requests[0].target == "/a/../b?c=%2F")
        }
    }

    @Test func `a request carries its fields, the user agent, and no Expect`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server, .init(userAgent: "outbox/1")) { transport in
            var request = TransportRequest.post(server.url, .stream(PatternBody(2 << 20)))
            try request.headers.add("Authorization", "Bearer t")
            request.credentialsOrigin = WebOrigin(server.url)
            try request.headers.add("file_block", "[]")
            try request.headers.add("X-Empty", "")
            _ = try await transport.send(request)
            let seen = server.requests[0]
            #expect(seen.header("Authorization") == "Bearer t")
            #expect(seen.header("file_block") == "[]")
            #expect(seen.header("X-Empty") == "")
            #expect(seen.header("User-Agent") == "outbox/1")
            #expect(seen.header("Expect") == nil)
            #expect(seen.header("Accept-Encoding") == "identity")
            #expect(seen.header("Content-Length") == "\(2 << 20)")
            #expect(seen.header("Content-Type") == nil)
            #expect(seen.bodyLength == 2 << 20)
        }
    }

    @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "PROPFIND"])
    func `any method can carry a body`(name: String) async throws {
        let method = try #require(HTTPRequest.Method(name))
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            _ = try await transport.send(
                TransportRequest(method: method, url: server.url, body: .bytes(Array("abc".utf8))))
            #expect(server.requests[0].method == name)
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
            let reply = try await transport.send(TransportRequest(method: .head, url: server.url))
            #expect(reply.headers[.contentLength] == "3")
            #expect(reply.body.isEmpty)
        }
    }

    @Test func `the reply to a HEAD may name a content over the longest reply`() async throws {
        let server = try ScriptedServer { _ in .response(status: 200, body: Array(repeating: 0, count: 1000)) }
        try await withTransport(server) { transport in
            let request = TransportRequest(method: .head, url: server.url, maximumReplyLength: 10)
            let reply = try await transport.send(request)
            #expect(reply.headers[.contentLength] == "1000")
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
            #expect(reply.headers[.location] == "/elsewhere")
            #expect(server.requests.map(\.target) == ["/here"])
        }
    }

    @Test func `credentials reach only the origin that they are for`() async throws {
        let configured = try ScriptedServer { _ in .json("{}") }
        let other = try ScriptedServer { _ in .json("{}") }
        try await withTransport(configured) { transport in
            for name in ["Authorization", "Cookie", "X-Amz-Security-Token"] {
                for origin in [WebOrigin(configured.url), nil] {
                    var request = TransportRequest.get(other.url + "/upload/1")
                    try request.headers.add(name, "secret")
                    request.credentialsOrigin = origin
                    let failed = request
                    let error = await #expect(throws: TransportError.self) { try await transport.send(failed) }
                    #expect(error?.kind == "badRequest" && error?.description.contains("secret") == false)
                }
            }
            var request = TransportRequest.get(configured.url + "/upload/1")
            try request.headers.add("Authorization", "secret")
            request.credentialsOrigin = WebOrigin(configured.url)
            _ = try await transport.send(request)
            #expect(configured.requests.count == 1)
        }
        #expect(other.requests.isEmpty)
    }

    @Test(arguments: [301, 302, 303, 307, 308]) func `a redirect to another origin leads no credentials there`(
        status: Int
    ) async throws {
        let other = try ScriptedServer { _ in .json("{}") }
        let place = other.url + "/stolen"
        let server = try ScriptedServer { _ in .response(status: status, headers: [("Location", place)]) }
        try await withTransport(server) { transport in
            var request = TransportRequest.post(server.url, .bytes([1]))
            try request.headers.add("Authorization", "Bearer secret")
            request.credentialsOrigin = WebOrigin(server.url)
            #expect(try await transport.send(request).status == status)
        }
        #expect(other.requests.isEmpty)
    }

    @Test func `interim replies are skipped, with their fields`() async throws {
        let text = "HTTP/1.1 103 Early\r\nAge: 1\r\n\r\nHTTP/1.1 200 OK\r\nVia: 2\r\nContent-Length: 2\r\n\r\nok"
        let server = try ScriptedServer { _ in .raw(Array(text.utf8)) }
        try await withTransport(server) { transport in
            let reply = try await transport.send(.get(server.url))
            #expect(reply.status == 200)
            #expect(reply.headers[.age] == nil)
            #expect(reply.headers[.via] == "2")
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

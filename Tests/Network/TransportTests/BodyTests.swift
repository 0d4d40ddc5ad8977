import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(2)))
struct BodyTests {
    @Test(arguments: [0, 1, 700_000] as [UInt64])
    func `a body that fails on the way never makes a complete request`(position: UInt64) async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            let request = TransportRequest.post(server.url, .stream(PatternBody(1 << 20, failAt: position)))
            let error = await failure(of: request, over: transport)
            guard case .body(let cause) = error else {
                Issue.record("not a body's failure: \(String(describing: error))")
                return
            }
            #expect(cause is PatternBody.Broken)
            try await Poll.until("the connection is cut") { server.openConnections == 0 }
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `a body that ends early never makes a complete request`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            let request = TransportRequest.post(server.url, .stream(PatternBody(1000, endAt: 400)))
            guard case .body(let cause) = await failure(of: request, over: transport) else {
                Issue.record("not a body's failure")
                return
            }
            #expect(cause as? BodyTooShort == BodyTooShort(promised: 1000, delivered: 400))
            try await Poll.until("the connection is cut") { server.openConnections == 0 }
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `a multipart body has the shape of RFC 7578, byte by byte`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            let parts = [
                MultipartPart(
                    name: "sectionFile", fileName: "43-0.jpg", contentType: "image/jpg", source: TextBody("JPEG")),
                MultipartPart(name: "a\"b\r\n", source: TextBody("")),
            ]
            _ = try await transport.send(.post(server.url, .multipart(parts)))
            let request = server.requests[0]
            let type = try #require(request.header("Content-Type"))
            let prefix = "multipart/form-data; boundary="
            #expect(type.hasPrefix(prefix))
            let boundary = type.dropFirst(prefix.count)
            #expect((20...70).contains(boundary.count))
            let expected =
                "--\(boundary)\r\n"
                + "Content-Disposition: form-data; name=\"sectionFile\"; filename=\"43-0.jpg\"\r\n"
                + "Content-Type: image/jpg\r\n\r\nJPEG\r\n--\(boundary)\r\n"
                + "Content-Disposition: form-data; name=\"a%22b%0D%0A\"\r\n\r\n\r\n--\(boundary)--\r\n"
            #expect(request.text == expected)
            #expect(request.header("Content-Length") == "\(expected.utf8.count)")
            #expect(request.header("Transfer-Encoding") == nil)
        }
    }

    @Test func `a part that ends early never makes a complete request`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            let part = MultipartPart(name: "p", source: PatternBody(600_000, endAt: 599_999))
            let error = await failure(of: .post(server.url, .multipart([part])), over: transport)
            #expect(error?.kind == "body")
            try await Poll.until("the connection is cut") { server.openConnections == 0 }
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `an idle connection the server closed costs nothing but a new one`() async throws {
        let server = try ScriptedServer { _ in .json("{}") }
        try await withTransport(server) { transport in
            _ = try await transport.send(.get(server.url))
            server.closeConnections()
            let part = MultipartPart(name: "p", source: PatternBody(600_000))
            let reply = try await transport.send(.post(server.url, .multipart([part])))
            #expect(reply.status == 200)
            #expect(server.requests.map(\.connection) == [0, 1])
        }
    }

    @Test func `a re-used connection that dies under the body has it sent again from the start`() async throws {
        let server = try ScriptedServer(
            onHead: { $0.index == 1 ? .resetAfter(100_000) : .read }, handler: { _ in .json("{}") })
        try await withTransport(server) { transport in
            _ = try await transport.send(.get(server.url))
            let body = PatternBody(8 << 20)
            let reply = try await transport.send(.post(server.url, .stream(body)))
            #expect(reply.status == 200)
            #expect(body.rewinds == 1)
            #expect(server.requests.map(\.bodyLength) == [0, 8 << 20])
            #expect(server.requests.map(\.connection) == [0, 1])
        }
    }

    @Test func `a multipart body is sent again from the start, all its parts`() async throws {
        let server = try ScriptedServer(
            onHead: { $0.index == 1 ? .resetAfter(100_000) : .read }, handler: { _ in .json("{}") })
        try await withTransport(server) { transport in
            _ = try await transport.send(.get(server.url))
            let parts = [50_000, 8 << 20].map { MultipartPart(name: "p", source: PatternBody(UInt64($0))) }
            _ = try await transport.send(.post(server.url, .multipart(parts)))
            let request = try #require(server.requests.last)
            #expect(request.header("Content-Length") == "\(request.bodyLength)")
            #expect(request.body.count { $0 == 0x6F } > 50_000 + 8 << 20)
        }
    }

    @Test func `a new connection that dies under the body is an error, told once`() async throws {
        let server = try ScriptedServer(onHead: { _ in .resetAfter(100_000) }, handler: { _ in .json("{}") })
        try await withTransport(server) { transport in
            let error = await failure(of: .post(server.url, .stream(PatternBody(8 << 20))), over: transport)
            #expect(error?.kind == "reset")
            #expect(server.startedRequests == 1)
        }
    }
}

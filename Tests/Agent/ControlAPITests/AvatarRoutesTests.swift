import AgentTestSupport
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@testable import ControlAPI
@testable import Reports

@Suite("Avatars on the control interface")
struct AvatarRoutesTests {
    private static let picture = ServedPicture(bytes: Array("GIF89a".utf8), type: "image/gif", path: "/a/h/x.gif")
    private static let target = "/v1/avatar?url=https%3A%2F%2Fexample.org%2Fa%3Fb%3D1%26c"

    @Test("A picture is served with its type, and must be revalidated each time")
    func picture() async throws {
        let bench = try ControlBench()
        bench.avatars.answer(.success(Self.picture))
        let reply = try await bench.serving { try await bench.exchange(Self.target + "&style=round:8x8,r%3D4,b%3D0") }
        let text = reply.lowercased()
        #expect(text.hasPrefix("http/1.1 200"))
        #expect(text.contains("content-type: image/gif"))
        #expect(text.contains("cache-control: private, no-cache"))
        #expect(text.contains("x-content-type-options: nosniff"))
        #expect(!text.contains("x-outbox-placeholder"))
        #expect(reply.hasSuffix("GIF89a"))
        let question = bench.avatars.state.withLock(\.questions).first
        #expect(question?.url == "https://example.org/a?b=1&c")
        #expect(question?.style == "round:8x8,r=4,b=0")
    }

    @Test("A client with the current picture gets 304 Not Modified")
    func notModified() async throws {
        let bench = try ControlBench()
        bench.avatars.answer(.success(Self.picture))
        let (first, same, other) = try await bench.serving {
            let first = try await bench.exchange(Self.target)
            let line = try #require(first.split(separator: "\r\n").first { $0.lowercased().hasPrefix("etag:") })
            let tag = line.dropFirst("etag: ".count)
            return (
                first, try await bench.exchange(Self.target, fields: ["If-None-Match: \"x\", W/\(tag)"]),
                try await bench.exchange(Self.target, fields: ["If-None-Match: \"x\""])
            )
        }
        #expect(first.hasPrefix("HTTP/1.1 200"))
        #expect(same.hasPrefix("HTTP/1.1 304"))
        #expect(same.hasSuffix("\r\n\r\n"))
        #expect(other.hasPrefix("HTTP/1.1 200"))
    }

    @Test("While a picture is fetched, the placeholder is served, and must not be cached")
    func placeholder() async throws {
        let bench = try ControlBench()
        let reply = try await bench.serving { try await bench.exchange(Self.target) }.lowercased()
        #expect(reply.hasPrefix("http/1.1 200"))
        #expect(reply.contains("x-outbox-placeholder: 1"))
        #expect(reply.contains("cache-control: no-store"))
        #expect(reply.contains("content-type: image/png"))
        #expect(!reply.contains("x-outbox-error"))
    }

    @Test("A failed URL gets the placeholder and the reason")
    func failed() async throws {
        let bench = try ControlBench()
        bench.avatars.answer(.failure(.init("not_found", "no such picture")))
        let reply = try await bench.serving { try await bench.exchange(Self.target) }.lowercased()
        #expect(reply.hasPrefix("http/1.1 200"))
        #expect(reply.contains("x-outbox-placeholder: 1"))
        #expect(reply.contains("x-outbox-error: not_found"))
    }

    @Test("Without a directory for avatars every URL gets the placeholder")
    func noMirror() async throws {
        let bench = try ControlBench(hasMirror: false)
        let (picture, list) = try await bench.serving {
            (try await bench.exchange(Self.target), try await bench.ask("GET", "/v1/avatars"))
        }
        #expect(picture.lowercased().contains("x-outbox-error: storage"))
        #expect(list.status == 500)
        #expect(list.body.contains("\"code\":\"storage\""))
    }

    @Test("The requested wait reaches the mirror; the default is a short wait for drawing")
    func wait() async throws {
        let bench = try ControlBench()
        try await bench.serving {
            _ = try await bench.exchange(Self.target)
            _ = try await bench.exchange(Self.target + "&wait=7")
        }
        #expect(bench.avatars.state.withLock { $0.questions.map(\.patience) } == [.milliseconds(100), .seconds(7)])
    }

    @Test(
        "A malformed request is refused",
        arguments: [
            ("/v1/avatar", "malformed_url"), ("/v1/avatar?url=", "malformed_url"),
            ("/v1/avatar?url=x&wait=soon", "malformed_wait"), ("/v1/avatar?url=x&wait=-1", "malformed_wait"),
            ("/v1/avatar/file?style=original", "malformed_url"),
        ])
    func usage(target: String, code: String) async throws {
        let bench = try ControlBench()
        let reply = try await bench.serving { try await bench.ask("GET", target) }
        #expect(reply.status == 400)
        #expect(reply.body.contains("\"code\":\"\(code)\""), "\(reply.body)")
        #expect(bench.avatars.state.withLock(\.questions).isEmpty)
    }

    @Test(
        "A request for the file of a missing picture gets a status for each kind of trouble",
        arguments: [
            ("malformed_url", 400), ("unknown_style", 400), ("not_allowed", 403), ("not_found", 404),
            ("not_a_picture", 404), ("pending", 503), ("unreachable", 503), ("no_worker", 503), ("storage", 500),
        ])
    func troubles(code: String, status: Int) async throws {
        let bench = try ControlBench()
        bench.avatars.answer(.failure(.init(code, "why", until: "2026-11-21T11:40:00.000Z")))
        let reply = try await bench.serving { try await bench.ask("GET", "/v1/avatar/file?url=x") }
        #expect(reply.status == status)
        let expected = "{\"error\":{\"code\":\"\(code)\",\"message\":\"why\",\"until\":\"2026-11-21T11:40:00.000Z\"}}"
        #expect(reply.body == expected + "\n")
    }

    @Test("The client gets the path of a picture, and asks again while it is pending")
    func client() async throws {
        let bench = try ControlBench()
        bench.avatars.answer(.failure(.init("pending", "soon")), .success(Self.picture))
        let file = try await bench.serving {
            try await bench.client.avatar(url: "https://example.org/ä b", style: "original", patience: .seconds(60))
        }
        #expect(file.path == "/a/h/x.gif")
        #expect(file.size == 6)
        #expect(
            bench.avatars.state.withLock { $0.questions.map(\.url) }
                == Array(repeating: "https://example.org/ä b", count: 2))
    }

    @Test("The client's patience ends")
    func impatience() async throws {
        let bench = try ControlBench()
        let trouble = await #expect(throws: AvatarTrouble.self) {
            try await bench.serving { try await bench.client.avatar(url: "x", style: "original", patience: .zero) }
        }
        #expect(trouble?.kind == .later)
    }

    @Test(
        "A client that closes its connection gives up",
        arguments: ["/v1/avatar/file?url=x&wait=60", "/v1/avatar?url=x&wait=60"])
    func departure(target: String) async throws {
        let bench = try ControlBench()
        bench.avatars.hold()
        try await bench.serving {
            let connection = try bench.send(target)
            try await Poll.until("the question") { !bench.avatars.state.withLock(\.questions).isEmpty }
            #expect(bench.avatars.state.withLock(\.cancellations) == 0)
            _ = consume connection
            try await Poll.until("the wait to be given up") { bench.avatars.state.withLock(\.cancellations) == 1 }
            #expect(try await bench.ask("GET", "/v1/avatars").status == 200)
        }
    }

    @Test("A client can also give up on a reused connection with more requests under way")
    func lateDeparture() async throws {
        let bench = try ControlBench()
        try await bench.serving {
            let connection = try bench.send("/v1/avatar/file?url=x")
            try await Poll.until("the first question") { !bench.avatars.state.withLock(\.questions).isEmpty }
            bench.avatars.hold()
            let more = "GET /v1/avatar/file?url=y&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n"
            try writeAll(Array((more + more).utf8), to: connection.rawValue)
            try await Poll.until("the second question") { bench.avatars.state.withLock(\.questions).count == 2 }
            _ = consume connection
            try await Poll.until("the wait to be given up") { bench.avatars.state.withLock(\.cancellations) >= 1 }
        }
    }

    @Test("A client that only shuts down its sending side gets every answer")
    func halfClosed() async throws {
        let bench = try ControlBench()
        bench.avatars.answer(.success(Self.picture))
        bench.avatars.hold()
        let text = try await bench.serving {
            let connection = SharedDescriptor(
                try bench.send("/v1/avatar/file?url=x&wait=60", "/v1/avatar/file?url=y&wait=60"))
            async let reply = bench.finish(connection)
            try await Poll.until("the question") { !bench.avatars.state.withLock(\.questions).isEmpty }
            bench.avatars.release()
            return await reply
        }
        #expect(text.ranges(of: "HTTP/1.1 200").count == 2, "\(text)")
        #expect(bench.avatars.state.withLock(\.cancellations) == 0)
    }

    @Test("The mirror is listed and cleared")
    func listAndClear() async throws {
        let bench = try ControlBench()
        try await bench.serving {
            let list = try await bench.client.avatars()
            #expect(list == .sample)
            let cleared = try await bench.client.clearAvatars(olderThan: .seconds(30 * 86_400))
            #expect(cleared.bytes == 1234)
            _ = try await bench.client.clearAvatars(olderThan: nil)
            let wrong = try await bench.ask("DELETE", "/v1/avatars?older_than=long")
            #expect(wrong.status == 400)
        }
        #expect(bench.avatars.state.withLock(\.cleared) == [.seconds(30 * 86_400), nil])
    }

    @Test("The profile shows the pending picture")
    func profile() async throws {
        let bench = try ControlBench()
        let text = """
            {"portraitURL":"http://h/u/42.jpg!150x150","current":"/a/current.jpg","pending":\
            {"path":"portrait/me.jpg","state":"waiting","attempts":2,"next_attempt_at":null,"error":null}}
            """
        bench.profile.text.withLock { $0 = text }
        let report = try await bench.serving { try await bench.client.profile() }
        #expect(report.portraitURL == "http://h/u/42.jpg!150x150")
        #expect(report.current == "/a/current.jpg")
        #expect(report.pending?.path == "portrait/me.jpg")
        #expect(report.pending?.attempts == 2)
    }

    @Test("Changes of pictures are events")
    func events() async throws {
        let bench = try ControlBench()
        try await bench.serving {
            let reader = try EventReader(socket: bench.socket)
            try await reader.wait(for: "retry: 1000")
            bench.backend.events.publish(avatar: AvatarNews(url: "https://h/1", state: .kept))
            bench.backend.events.publish(profile: Array("{\"current\":\"/a/current.jpg\"}".utf8))
            try await reader.wait(
                for: "event: avatar\nid: ledger-20.1\ndata: {\"url\":\"https://h/1\",\"state\":\"kept\",\"code\":null,"
                    + "\"message\":null,\"until\":null}\n\n")
            try await reader.wait(
                for: "event: portrait\nid: ledger-20.2\ndata: {\"current\":\"/a/current.jpg\"}\n\n")
        }
    }

    @Test("The metrics include the counts of avatars")
    func metrics() async throws {
        let bench = try ControlBench()
        bench.avatars.state.withLock { state in
            state.figures.kept = 3
            state.figures.keptBytes = 4096
            state.figures.failures = ["not_found": 2]
        }
        let text = try await bench.serving { try await bench.ask("GET", "/metrics") }.body
        let metrics = try ExpositionParser(text).metrics
        #expect(metrics["outbox_avatars"]?.samples.first?.value == 3)
        #expect(metrics["outbox_avatars_size_bytes"]?.samples.first?.value == 4096)
        #expect(metrics["outbox_avatar_failures_total"]?.samples.first?.labels == ["code": "not_found"])
        #expect(metrics["outbox_avatar_requests_total"]?.samples.count == 2)
    }
}

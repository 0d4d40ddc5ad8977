import HTTPTypes
import LinuxSystem
import Synchronization
import TestSupport
import Testing
import Transport

@testable import Avatars

@Suite(.timeLimit(.minutes(2)))
struct CurlFetcherTests {
    private static let open = AddressPolicy(allowsPrivate: true)

    /// Fetches a URL once. Returns the answer and the bytes of the draft, or the error.
    private func fetch(
        _ url: String, policy: AddressPolicy = open, hosts: [String] = [], maximumLength: Int = 1 << 20,
        tag: String? = nil, date: String? = nil
    ) async throws -> Result<(AvatarAnswer, [UInt8]), AvatarFetchError> {
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        let fetcher = CurlFetcher(transport: transport, policy: policy, allowedHosts: hosts)
        let draft = try MemoryAvatarStore().makeDraft()
        do throws(AvatarFetchError) {
            let request = AvatarRequest(url: url, entityTag: tag, lastModified: date, maximumLength: maximumLength)
            let answer = try await fetcher.fetch(request, into: draft.file)
            var bytes = [UInt8](repeating: 0, count: 2 << 20)
            let count = (try? bytes.withUnsafeMutableBytes { try draft.file.read(into: $0, at: 0) }) ?? 0
            return .success((answer, Array(bytes[..<count])))
        } catch {
            return .failure(error)
        }
    }

    private func failure(_ result: Result<(AvatarAnswer, [UInt8]), AvatarFetchError>) -> AvatarFetchError? {
        if case .failure(let error) = result { error } else { nil }
    }

    private static func redirect(_ status: Int = 302, to location: String) -> ScriptedServer.Reply {
        .response(status: status, headers: [("Location", location)], body: Array("<html>moved".utf8))
    }

    @Test func `a picture goes into the draft, and no credentials or cookies go out`() async throws {
        let server = try ScriptedServer { _ in
            .response(status: 200, headers: [("ETag", "\"1\""), ("Cache-Control", "max-age=5")], body: png())
        }
        defer { server.stop() }
        let url = "http://user:secret@127.0.0.1:\(server.port)/a.png?v=1#part"
        let (answer, bytes) = try await fetch(url).get()
        #expect(answer.content == .body(length: UInt64(png().count)))
        #expect(answer.fields[.eTag] == "\"1\"")
        #expect(!answer.isFromElsewhere)
        #expect(bytes == png())
        let request = try #require(server.requests.first)
        #expect(request.target == "/a.png?v=1")
        #expect(
            Set(request.headers.map { $0.name.lowercased() }) == ["host", "user-agent", "accept", "accept-encoding"])
    }

    @Test func `a picture that the server compresses unasked is decoded`() async throws {
        // A deflate stream of one stored block (RFC 1951, section 3.2.4).
        let size = png().count
        let length = [UInt8(size & 0xFF), UInt8(size >> 8)]
        let body = [1] + length + length.map { ~$0 } + png()
        let server = try ScriptedServer { _ in
            .response(status: 200, headers: [("Content-Encoding", "deflate")], body: body)
        }
        defer { server.stop() }
        let (answer, bytes) = try await fetch("http://127.0.0.1:\(server.port)/a.png").get()
        #expect(bytes == png() && answer.content == .body(length: UInt64(size)))
    }

    @Test func `validators are sent, and 304 means unchanged`() async throws {
        let server = try ScriptedServer { request in
            request.header("If-None-Match") == "W/\"1\"" && request.header("If-Modified-Since") == "then"
                ? .response(status: 304, headers: [("ETag", "W/\"1\"")]) : .response(status: 200, body: png())
        }
        defer { server.stop() }
        #expect(try await fetch(server.url, tag: "W/\"1\"", date: "then").get().0.content == .unchanged)
    }

    @Test func `a 304 that nobody asked for is no answer`() async throws {
        let server = try ScriptedServer { _ in .response(status: 304) }
        defer { server.stop() }
        guard case .failed(.badRedirect, _) = failure(try await fetch(server.url)) else {
            Issue.record("taken for an answer")
            return
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `redirects are followed, and their bodies stay out of the draft`(status: Int) async throws {
        let server = try ScriptedServer { request in
            request.target == "/dir/a" ? Self.redirect(status, to: "../b?c") : .response(status: 200, body: png())
        }
        defer { server.stop() }
        let (_, bytes) = try await fetch(server.url + "/dir/a").get()
        #expect(bytes == png())
        #expect(server.requests.map(\.target) == ["/dir/a", "/b?c"])
    }

    @Test func `an address in Latin-1 keeps its bytes, and one in UTF-8 its characters`() {
        func text(_ bytes: [UInt8]) -> String { CurlFetcher.text(of: HTTPField(name: .location, value: bytes)) }
        #expect(text(Array("/caf".utf8) + [0xE9] + Array(".png".utf8)) == "/caf%E9.png")
        #expect(text(Array("/café.png".utf8)) == "/café.png")
    }

    @Test func `five redirects are followed, six are not`() async throws {
        let server = try ScriptedServer { request in
            let left = Int(request.target.dropFirst()) ?? 0
            return left == 0 ? .response(status: 200, body: png()) : Self.redirect(to: "/\(left - 1)")
        }
        defer { server.stop() }
        #expect(failure(try await fetch(server.url + "/5")) == nil)
        #expect(server.startedRequests == 6)
        guard case .failed(.badRedirect, _) = failure(try await fetch(server.url + "/6")) else {
            Issue.record("followed")
            return
        }
    }

    @Test(arguments: ["ftp://127.0.0.1/a", "file:///etc/passwd", "http://", "http://a%20b/"])
    func `redirects to anything else lead nowhere`(location: String) async throws {
        let server = try ScriptedServer { _ in Self.redirect(to: location) }
        defer { server.stop() }
        guard case .failed(.badRedirect, _) = failure(try await fetch(server.url)) else {
            Issue.record("followed")
            return
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `private addresses are refused, by number and by name`(host: String) async throws {
        let server = try ScriptedServer { _ in .response(status: 200, body: png()) }
        defer { server.stop() }
        let error = failure(
            try await fetch("http://\(host):\(server.port)/", policy: AddressPolicy(allowsPrivate: false)))
        guard case .notAllowed = error else {
            Issue.record("not refused: \(String(describing: error))")
            return
        }
        #expect(server.acceptedConnections == 0)
    }

    /// The fetcher checks names first. The transport checks the address of a name that looks harmless.
    @Test func `an address is refused when it is connected to, whatever its name`() async throws {
        let server = try ScriptedServer { _ in .response(status: 200, body: png()) }
        defer { server.stop() }
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        // The request that the fetcher sends for a name like rebind.example, which now resolves to 127.0.0.1.
        let policy = AddressPolicy(allowsPrivate: false)
        let request = TransportRequest(
            method: .get, url: "http://localhost:\(server.port)/", mayConnect: { policy.allows($0) })
        do {
            _ = try await transport.send(request)
            Issue.record("connected")
        } catch {
            guard case .refusedAddress = error else {
                Issue.record("\(error)")
                return
            }
        }
        #expect(server.acceptedConnections == 0)
    }

    @Test func `every hop is checked, not the first alone`() async throws {
        let server = try ScriptedServer { _ in .response(status: 200, body: png()) }
        defer { server.stop() }
        let transport = RedirectingTransport(to: "http://169.254.169.254/latest/meta-data")
        let fetcher = CurlFetcher(transport: transport, policy: AddressPolicy(allowsPrivate: false))
        let draft = try MemoryAvatarStore().makeDraft()
        do throws(AvatarFetchError) {
            _ = try await fetcher.fetch(AvatarRequest(url: "http://example.org/", maximumLength: 1), into: draft.file)
            Issue.record("followed")
        } catch {
            guard case .notAllowed = error else {
                Issue.record("\(error)")
                return
            }
        }
        #expect(transport.urls == ["http://example.org/"])
    }

    @Test func `a redirect from https to http is not followed`() async throws {
        let transport = RedirectingTransport(to: "http://example.org/b")
        let fetcher = CurlFetcher(transport: transport, policy: AddressPolicy(allowsPrivate: false))
        let draft = try MemoryAvatarStore().makeDraft()
        do throws(AvatarFetchError) {
            _ = try await fetcher.fetch(AvatarRequest(url: "https://example.org/", maximumLength: 1), into: draft.file)
            Issue.record("followed")
        } catch {
            guard case .failed(.badRedirect, _) = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test(arguments: [
        (["127.0.0.1"], true), (["example.org"], false), (["*.127.0.0.1"], false), (["127.1"], false), ([], true),
    ])
    func `only allowed hosts are asked`(hosts: [String], isAllowed: Bool) async throws {
        let server = try ScriptedServer { _ in .response(status: 200, body: png()) }
        defer { server.stop() }
        #expect((failure(try await fetch(server.url, hosts: hosts)) == nil) == isAllowed)
    }

    @Test(
        arguments: [
            ("http://[2001:DB8::1]/a", "2001:db8::1", true), ("http://[2001:db8:0::1]/a", "[2001:DB8::1]", true),
            ("http://[2001:db8::2]/a", "2001:db8::1", false), ("https://img.example.org/a", "*.Example.org", true),
            ("https://example.org/a", "*.example.org", false),
        ] as [(String, String, Bool)])
    func `a host may be listed in any spelling`(url: String, pattern: String, isAllowed: Bool) async throws {
        let transport = RedirectingTransport(to: "ftp://example.org/")
        let fetcher = CurlFetcher(transport: transport, policy: Self.open, allowedHosts: [pattern])
        let draft = try MemoryAvatarStore().makeDraft()
        _ = try? await fetcher.fetch(AvatarRequest(url: url, maximumLength: 1), into: draft.file)
        #expect(transport.urls.count == (isAllowed ? 1 : 0))
    }

    @Test(arguments: [
        (404, "not_found"), (410, "gone"), (403, "refused"), (500, "server_busy"), (503, "server_busy"),
        (429, "server_busy"), (511, "unreachable"), (407, "unreachable"), (206, "bad_redirect"),
    ])
    func `statuses have their faults`(status: Int, code: String) async throws {
        let server = try ScriptedServer { _ in .response(status: status, body: Array("sorry".utf8)) }
        defer { server.stop() }
        guard case .failed(let fault, _) = failure(try await fetch(server.url)) else {
            Issue.record("not a failure")
            return
        }
        #expect(fault.code == code)
    }

    @Test func `the pause a busy server asks for is told`() async throws {
        let server = try ScriptedServer { _ in .response(status: 503, headers: [("Retry-After", "7")]) }
        defer { server.stop() }
        guard case .failed(let fault, _) = failure(try await fetch(server.url)) else {
            Issue.record("not a failure")
            return
        }
        #expect(fault == .serverBusy(retryAfter: .seconds(7)))
    }

    @Test(arguments: [true, false])
    func `longer bodies than allowed are refused, announced or not`(isAnnounced: Bool) async throws {
        let body = png(size: 5000)
        let server = try ScriptedServer { _ in
            isAnnounced
                ? .response(status: 200, body: body)
                : .raw(Array("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".utf8) + body)
        }
        defer { server.stop() }
        guard case .failed(.tooLarge, _) = failure(try await fetch(server.url, maximumLength: 4999)) else {
            Issue.record("taken")
            return
        }
        #expect(failure(try await fetch(server.url, maximumLength: 5000)) == nil)
    }

    @Test func `a picture that is cut short is the network's fault`() async throws {
        let server = try ScriptedServer { _ in .truncated(status: 200, promised: 5000, body: png()) }
        defer { server.stop() }
        guard case .failed(.notItsFault, _) = failure(try await fetch(server.url)) else {
            Issue.record("taken, or held against the URL")
            return
        }
    }
}

/// Answers every request with a redirect.
private final class RedirectingTransport: HTTPTransport {
    private let location: String
    private let asked = Mutex<[String]>([])

    init(to location: String) { self.location = location }

    var urls: [String] { asked.withLock { $0 } }

    func send(_ request: TransportRequest) async throws(TransportError) -> HTTPReply {
        asked.withLock { $0.append(request.url) }
        return HTTPReply(status: 302, headers: [.location: location])
    }
}

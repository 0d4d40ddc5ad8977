import MediaTools
import PictureJobs
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Avatars

@Suite(.timeLimit(.minutes(2)))
struct FaultTests {
    @Test(arguments: [(404, "not_found"), (410, "gone"), (403, "refused")])
    func `a URL its server does not answer is not asked again for a while`(status: Int, code: String) async throws {
        let bench = try Bench(try ScriptedServer { _ in .response(status: status) })
        for _ in 0..<3 { #expect(try await bench.failure("/a.png")?.code == code) }
        #expect(bench.server.startedRequests == 1)
        let entry = try #require(await bench.cache.failures().first)
        #expect(entry.code == code)
        #expect(entry.url == bench.server.url + "/a.png")
        bench.clock.advance(by: .seconds(601))
        _ = try await bench.failure("/a.png")
        #expect(bench.server.startedRequests == 2)
    }

    @Test func `what is not a picture is listed`() async throws {
        let bench = try Bench(try .serving(Array("<html>hello</html>".utf8)))
        for _ in 0..<2 { #expect(try await bench.failure("/a.png")?.code == "not_a_picture") }
        #expect(bench.server.startedRequests == 1)
        #expect(try await bench.cache.entries().isEmpty)
    }

    @Test func `a page from another host may be a network's log-in, and lists nothing`() async throws {
        let portal = try ScriptedServer.serving(Array("<html>log in</html>".utf8))
        defer { portal.stop() }
        let server = try ScriptedServer { _ in
            .response(status: 302, headers: [("Location", "http://localhost:\(portal.port)/login")])
        }
        let bench = try Bench(server)
        for _ in 0..<2 { #expect(try await bench.failure("/a.png")?.code == "unreachable") }
        #expect(server.startedRequests == 2)
    }

    @Test func `too large a picture is listed`() async throws {
        let bench = try Bench(try .serving(png(size: 5000)), options: AvatarOptions(maximumPictureLength: 4000))
        for _ in 0..<2 { #expect(try await bench.failure("/a.png")?.code == "too_large") }
        #expect(bench.server.startedRequests == 1)
    }

    @Test(arguments: [
        (PictureFailure.refused(PictureRefusal(.tooManyPixels, "30000x30000")), "too_many_pixels"),
        (.refused(PictureRefusal(.damaged, "cut short")), "not_a_picture"), (.killedWorker("died"), "killed_worker"),
    ])
    func `what the worker refuses is listed and not kept`(failure: PictureFailure, code: String) async throws {
        let bench = try Bench(try .serving(), pictures: CountingPictures(failure: failure))
        for _ in 0..<2 { #expect(try await bench.failure("/a.png")?.code == code) }
        #expect(bench.server.startedRequests == 1)
        #expect(try await bench.cache.entries().isEmpty)
    }

    @Test(arguments: [[], Array("<svg>".utf8)])
    func `what the worker drew must be a PNG`(head: [UInt8]) async throws {
        let bench = try Bench(try .serving())
        bench.pictures.state.withLock { $0.head = head }
        #expect(try await bench.failure("/a.png", .rect(10))?.code == "killed_worker")
        #expect(try await bench.failure("/a.png") == nil)
        #expect(try await bench.cache.entries().map(\.styles) == [[]])
    }

    @Test func `a server that is down or busy lists nothing`() async throws {
        let server = try ScriptedServer { $0.target == "/reset" ? .reset : .response(status: 500) }
        let bench = try Bench(server)
        for path in ["/reset", "/busy"] {
            for _ in 0..<2 { #expect(try await bench.failure(path)?.code == "unreachable") }
        }
        server.stop()
        #expect(try await bench.failure("/down")?.code == "unreachable")
        #expect(await bench.cache.failures().isEmpty)
    }

    @Test func `a busy server gets the pause it asks for`() async throws {
        let bench = try Bench(try ScriptedServer { _ in .response(status: 503, headers: [("Retry-After", "30")]) })
        for _ in 0..<2 { #expect(try await bench.failure("/a.png")?.code == "server_busy") }
        #expect(bench.server.startedRequests == 1)
        bench.clock.advance(by: .seconds(31))
        _ = try await bench.failure("/a.png")
        #expect(bench.server.startedRequests == 2)
    }

    @Test func `private addresses are refused and listed nowhere`() async throws {
        let bench = try Bench(try .serving(), policy: AddressPolicy(allowsPrivate: false))
        #expect(try await bench.failure("/a.png")?.code == "not_allowed")
        #expect(bench.server.acceptedConnections == 0)
        #expect(await bench.cache.failures().isEmpty)
    }

    @Test func `without a worker originals are served, and styles say what is missing`() async throws {
        let bench = try Bench(try .serving(), pictures: CountingPictures(failure: .unavailable("no libvips")))
        #expect(try await bench.picture("/a.png").bytes == png())
        #expect(try await bench.failure("/a.png", .rect(10))?.code == "no_worker")
        #expect(try await bench.picture("/a.png").bytes == png())
        #expect(bench.server.startedRequests == 1)
    }

    @Test func `a picture that can't be drawn is not drawn again and again`() async throws {
        let failure = PictureFailure.killedWorker("it died")
        let bench = try Bench(try .serving(), pictures: CountingPictures(drawFailure: failure))
        for _ in 0..<3 { #expect(try await bench.failure("/a.png", .rect(10))?.code == "killed_worker") }
        #expect(bench.pictures.drawn.count == 1)
        #expect(try await bench.picture("/a.png").bytes == png())
        #expect(bench.server.startedRequests == 1)
    }
}

@Suite(.timeLimit(.minutes(2)))
struct StalenessTests {
    /// A server with ETags, whose picture changes.
    private final class Versions: Sendable {
        let version = Atomic<UInt64>(1)
        let status = Atomic(200)

        func reply(_ request: ScriptedServer.Request) -> ScriptedServer.Reply {
            let status = status.load(ordering: .acquiring)
            if status != 200 { return .response(status: status) }
            let version = version.load(ordering: .acquiring)
            let tag = "\"\(version)\""
            let headers = [("ETag", tag), ("Cache-Control", "max-age=100")]
            if request.header("If-None-Match") == tag { return .response(status: 304, headers: headers) }
            return .response(status: 200, headers: headers, body: png(version))
        }
    }

    private let versions = Versions()

    private func makeBench() throws -> Bench {
        try Bench(try ScriptedServer { [versions] in versions.reply($0) })
    }

    @Test func `a picture is not asked about while it is fresh`() async throws {
        let bench = try makeBench()
        _ = try await bench.picture("/a.png")
        bench.clock.advance(by: .seconds(99))
        await bench.cache.forgetMemory()
        _ = try await bench.picture("/a.png")
        #expect(bench.server.startedRequests == 1)
    }

    @Test func `once it is stale its server is asked with validators, and 304 makes it fresh again`() async throws {
        let bench = try makeBench()
        _ = try await bench.picture("/a.png", .rect(10))
        bench.clock.advance(by: .seconds(101))
        let again = try await bench.picture("/a.png", .rect(10))
        #expect(bench.server.requests.map { $0.header("If-None-Match") } == [nil, "\"1\""])
        #expect(bench.pictures.drawn.count == 1)
        #expect(again.fetchedAt == bench.clock.clock.now().wall)
        bench.clock.advance(by: .seconds(99))
        _ = try await bench.picture("/a.png", .rect(10))
        #expect(bench.server.startedRequests == 2)
    }

    @Test func `new content replaces the original and everything drawn from the old`() async throws {
        let bench = try makeBench()
        let old = try await bench.picture("/a.png", .rect(10))
        versions.version.store(2, ordering: .releasing)
        bench.clock.advance(by: .seconds(101))
        #expect(try await bench.picture("/a.png").bytes == png(2))
        #expect(try await bench.picture("/a.png", .rect(10)).bytes != old.bytes)
        #expect(bench.pictures.drawn.count == 2)
    }

    @Test(arguments: [500, 403, 511])
    func `a stale picture is shown where its server fails`(status: Int) async throws {
        let bench = try makeBench()
        _ = try await bench.picture("/a.png", .rect(10))
        versions.status.store(status, ordering: .releasing)
        bench.clock.advance(by: .seconds(101))
        for _ in 0..<3 { #expect(try await bench.picture("/a.png").bytes == png(1)) }
        #expect(bench.server.startedRequests == 2)
        #expect(try await bench.picture("/a.png", .rect(10)).type == "image/png")
    }

    @Test func `a stale picture is shown where its server is down, and asked about again later`() async throws {
        let bench = try makeBench()
        _ = try await bench.picture("/a.png")
        bench.server.stop()
        bench.clock.advance(by: .seconds(101))
        #expect(try await bench.picture("/a.png").bytes == png(1))
        versions.version.store(2, ordering: .releasing)
        let back = try ScriptedServer(port: bench.server.port) { [versions] in versions.reply($0) }
        defer { back.stop() }
        #expect(try await bench.picture("/a.png").bytes == png(1))
        bench.clock.advance(by: AvatarCache.stalePause + .seconds(1))
        #expect(try await bench.picture("/a.png").bytes == png(2))
    }

    @Test(arguments: [404, 410])
    func `a picture its server has no more goes`(status: Int) async throws {
        let bench = try makeBench()
        _ = try await bench.picture("/a.png", .rect(10))
        versions.status.store(status, ordering: .releasing)
        bench.clock.advance(by: .seconds(101))
        #expect(try await bench.failure("/a.png") != nil)
        #expect(try await bench.cache.entries().isEmpty)
        #expect(bench.events().contains(.removed(url: bench.server.url + "/a.png")))
    }

    @Test func `what is kept is shown without asking, stale or not`() async throws {
        let bench = try makeBench()
        let address = try bench.address("/a.png")
        #expect(await bench.cache.kept(address, .original) == nil)
        _ = try await bench.picture("/a.png")
        bench.clock.advance(by: .seconds(1000))
        #expect(await bench.cache.kept(address, .original)?.bytes == png(1))
        #expect(await bench.cache.kept(address, .rect(10))?.type == "image/png")
        #expect(bench.server.startedRequests == 1)
    }
}

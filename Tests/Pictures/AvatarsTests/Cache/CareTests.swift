import Glibc
import LinuxSystem
import PictureJobs
import Synchronization
import TestSupport
import Testing

@testable import Avatars

@Suite(.timeLimit(.minutes(2)))
struct CareTests {
    private func portrait(_ directory: TemporaryDirectory) throws -> SharedDescriptor {
        try SampleMedia.jpeg.write(to: directory.path("p.jpg"), size: 4000, seed: 7)
        return try SharedDescriptor(opening: directory.path("p.jpg"), flags: O_RDONLY)
    }

    @Test func `a picture at hand becomes an original without asking the server`() async throws {
        let directory = try TemporaryDirectory()
        let bench = try Bench(try .serving())
        let address = try bench.address("/u/42.jpg")
        _ = try await bench.picture("/u/42.jpg", .rect(10))
        let adopted = try await bench.cache.adopt(try portrait(directory), as: address)
        #expect(adopted.type == "image/jpeg")
        #expect(adopted.bytes == SampleMedia.jpeg.bytes(size: 4000, seed: 7))
        #expect(try await bench.picture("/u/42.jpg").bytes == adopted.bytes)
        _ = try await bench.picture("/u/42.jpg", .rect(10))
        #expect(bench.pictures.drawn.count == 2)
        #expect(bench.server.startedRequests == 1)
    }

    @Test func `what is adopted must be a picture`() async throws {
        let directory = try TemporaryDirectory()
        let bench = try Bench(try .serving())
        let file = try SharedDescriptor(opening: directory.path("x"), flags: O_RDWR | O_CREAT, mode: 0o600)
        try writeAll(Array("text".utf8), to: file.rawValue)
        let address = try bench.address("/u/42.jpg")
        await #expect(throws: AvatarFailure.self) { try await bench.cache.adopt(file, as: address) }
        #expect(await bench.cache.pinned == nil)
        #expect(await bench.cache.failures().isEmpty)
        #expect(try await bench.cache.entries().isEmpty)
    }

    @Test func `clearing leaves the pinned picture, and forgets failures`() async throws {
        let directory = try TemporaryDirectory()
        let server = try ScriptedServer {
            $0.target == "/no" ? .response(status: 404) : .response(status: 200, body: png())
        }
        let bench = try Bench(server)
        let mine = try bench.address("/u/42.jpg")
        _ = try await bench.cache.adopt(try portrait(directory), as: mine)
        _ = try await bench.picture("/a.png", .rect(10))
        _ = try await bench.failure("/no")
        let gone = try await bench.cache.clear(olderThan: nil)
        #expect(gone.map(\.address.url) == [server.url + "/a.png"])
        #expect(try await bench.cache.entries().map(\.address) == [mine])
        #expect(await bench.cache.failures().isEmpty)
        let requests = server.startedRequests
        _ = try await bench.picture("/a.png")
        #expect(server.startedRequests == requests + 1)
    }

    @Test func `clearing spares what is younger`() async throws {
        let bench = try Bench(try .serving())
        _ = try await bench.picture("/old.png")
        bench.clock.advance(by: .seconds(1000))
        _ = try await bench.picture("/new.png")
        _ = try await bench.cache.clear(olderThan: .seconds(500))
        #expect(try await bench.cache.entries().map(\.address.url) == [bench.server.url + "/new.png"])
    }

    @Test func `what the link to the current picture points at is spared, pinned or not`() async throws {
        let directory = try TemporaryDirectory()
        let store = try DiskAvatarStore(directory: directory.path("mirror"))
        let link = directory.path("current.jpg")
        let bench = try Bench(try .serving(), store: store, options: AvatarOptions(currentPicture: link))
        let path = try #require(try await bench.picture("/mine.png").path)
        _ = try await bench.picture("/other.png")
        #expect(symlink(path, link) == 0)
        let gone = try await bench.cache.clear(olderThan: nil)
        #expect(gone.map(\.address.url) == [bench.server.url + "/other.png"])
        #expect(access(link, R_OK) == 0)
    }

    @Test func `over the size limit the least recently used go`() async throws {
        let bench = try Bench(try .serving(), options: AvatarOptions(maximumSize: 10_000))
        for number in 0..<8 {
            _ = try await bench.picture("/\(number).png")
            bench.clock.advance(by: .seconds(1))
            await bench.cache.forgetMemory()
            if number > 0 { _ = try await bench.picture("/0.png") }
        }
        let left = try await bench.cache.entries()
        #expect(left.reduce(0) { $0 + $1.size } <= 10_000)
        #expect(left.contains { $0.address.url.hasSuffix("/0.png") })
        #expect(left.contains { $0.address.url.hasSuffix("/7.png") })
        #expect(bench.events().contains(.removed(url: bench.server.url + "/1.png")))
    }

    @Test func `a picture that does not fit is downloaded once for those who wait, and goes then`() async throws {
        let bench = try Bench(try .serving(), options: AvatarOptions(maximumSize: 0))
        #expect(try await bench.picture("/a.png").bytes == png())
        #expect(bench.server.startedRequests == 1)
        _ = try await bench.picture("/b.png", .rect(10))
        #expect(bench.server.startedRequests == 2)
        #expect(try await bench.cache.entries().isEmpty)
        #expect(await bench.cache.desk.isIdle)
    }

    @Test func `what is counted follows what is kept, replaced and cleared`() async throws {
        let versions = Atomic(UInt64(1))
        let server = try ScriptedServer { _ in
            let version = versions.load(ordering: .acquiring)
            return .response(
                status: 200, headers: [("Cache-Control", "max-age=100")], body: png(version, size: 3000 * Int(version)))
        }
        let bench = try Bench(server)
        #expect(try await bench.cache.totals() == AvatarTotals(count: 0, bytes: 0))
        for path in ["/a.png", "/b.png"] { _ = try await bench.picture(path, .rect(10)) }
        #expect(try await bench.cache.totals() == AvatarTotals(of: try await bench.cache.entries()))
        #expect(try await bench.cache.totals().count == 2)
        versions.store(2, ordering: .releasing)
        bench.clock.advance(by: .seconds(101))
        _ = try await bench.picture("/a.png")
        #expect(try await bench.cache.totals() == AvatarTotals(of: try await bench.cache.entries()))
        _ = try await bench.cache.clear(olderThan: nil)
        #expect(try await bench.cache.totals().count == 0)
    }

    @Test func `a picture that is older than pictures may be is asked about, fresh or not`() async throws {
        let bench = try Bench(
            try .serving(png(), [("Cache-Control", "max-age=1000")]),
            options: AvatarOptions(maximumAge: .seconds(100)))
        _ = try await bench.picture("/a.png")
        bench.clock.advance(by: .seconds(99))
        _ = try await bench.picture("/a.png")
        #expect(bench.server.startedRequests == 1)
        bench.clock.advance(by: .seconds(2))
        _ = try await bench.picture("/a.png")
        #expect(bench.server.startedRequests == 2)
    }

    @Test func `what another program replaces while it is drawn is drawn once more`() async throws {
        let directory = try TemporaryDirectory()
        let bench = try Bench(
            try .serving(), store: try DiskAvatarStore(directory: directory.path("mirror")))
        let other = try DiskAvatarStore(directory: directory.path("mirror"))
        let address = try bench.address("/a.png")
        _ = try await bench.picture("/a.png")
        let record = try #require(try other.record(of: address))
        bench.pictures.state.withLock {
            $0.beforeDrawing = { [pictures = bench.pictures] in
                pictures.state.withLock { $0.beforeDrawing = nil }
                _ = try other.keep(other.draft("another"), asOriginalOf: address, record)
            }
        }
        #expect(try await bench.picture("/a.png", .rect(10)).path != nil)
        #expect(bench.pictures.drawn.count == 2)
    }

    @Test func `memory counts more than the bytes of pictures`() async throws {
        let bench = try Bench(try .serving())
        let path = "/" + String(repeating: "a", count: 1000)
        _ = try await bench.picture(path)
        #expect(await bench.cache.memory.cost > png().count + 1024 + 3 * 1000)
    }

    @Test func `a path is given only as long as the file is there`() async throws {
        let directory = try TemporaryDirectory()
        let store = try DiskAvatarStore(directory: directory.path("mirror"))
        let bench = try Bench(try .serving(), store: store)
        let path = try #require(try await bench.picture("/a.png").path)
        #expect(unlink(path) == 0)
        #expect(try await bench.picture("/a.png").path == path)
        #expect(access(path, R_OK) == 0)
        #expect(bench.server.startedRequests == 2)
    }

    @Test func `a styled picture is shown though its original was removed by hand`() async throws {
        let directory = try TemporaryDirectory()
        let store = try DiskAvatarStore(directory: directory.path("mirror"))
        let bench = try Bench(try .serving(), store: store)
        let styled = try await bench.picture("/a.png", .rect(10))
        let path = try #require(try await bench.picture("/a.png").path)
        #expect(unlink(path) == 0)
        await bench.cache.trim()
        await bench.cache.forgetMemory()
        #expect(try await bench.picture("/a.png", .rect(10)) == styled)
        #expect(bench.server.startedRequests == 1)
        #expect(try await bench.cache.entries().map(\.size) == [0])
        // The cache shows a stale picture if the server is unreachable.
        bench.server.stop()
        bench.clock.advance(by: .seconds(100_000))
        #expect(try await bench.picture("/a.png", .rect(10)).bytes == styled.bytes)
        #expect(try await bench.failure("/a.png")?.code == "unreachable")
    }

    @Test func `the mirror on disk gives paths of files that hold what is shown`() async throws {
        let directory = try TemporaryDirectory()
        let store = try DiskAvatarStore(directory: directory.path("mirror"))
        let bench = try Bench(try .serving(), store: store)
        for style in [PictureStyle.original, .rect(10)] {
            let picture = try await bench.picture("/d/a.png", style)
            let path = try #require(picture.path)
            let file = try SharedDescriptor(opening: path, flags: O_RDONLY)
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            #expect(Array(bytes[..<count]) == picture.bytes)
        }
        #expect(access(directory.path("mirror/127.0.0.1_\(bench.server.port)/d/a.png"), R_OK) == 0)
    }
}

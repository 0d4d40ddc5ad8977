import EndToEndSupport
import Foundation
import TestSupport
import Testing

/// Tries servers that somebody else wrote, over tus and S3: `make test-servers`.
@Suite("Real servers", .agents, .enabled(if: RealServer.directory != nil, "make test-servers starts the servers"))
struct RealServerTests {
    /// An upload that stays under way for seconds: a test changes the limit once it has acted.
    static let slow: Settings = ["upload.bandwidth_limit": "4MiB", "upload.fragments_in_flight": 1]
    static let largeSize = 48 << 20

    static func slow(_ server: RealServer) -> Settings {
        server.facts.protocol == "s3" ? slow.merging(["remote.part_size": "5MiB"]) { $1 } : slow
    }

    @Test("are there")
    func given() {
        #expect(!RealServer.all.isEmpty)
        for server in RealServer.all { print("real server: \(server.testDescription)") }
    }

    @Test("keep a small file", arguments: RealServer.all)
    func small(server: RealServer) async throws {
        let agent = try server.agent()
        try await agent.start()
        let key = try agent.drop("small.jpg", .jpeg, size: 3000)

        let sidecar = try await server.expectArrived("small.jpg", of: agent, key: key, size: 3000)

        #expect(sidecar.fragments?.finished == 1)
        #expect(sidecar.remote?.id != nil)
        #expect(!sidecar.deduplicated)
    }

    @Test("keep large files, with random bytes and with holes", arguments: RealServer.all)
    func large(server: RealServer) async throws {
        let agent = try server.agent()
        try await agent.start()
        let size = 60 << 20
        let key = try agent.drop("random.mp4", .mp4, size: size)
        try SampleMedia.mp4.writeSparse(to: agent.path("sparse.mp4"), size: size + 1)
        let sparse = try Digest.md5(file: agent.path("sparse.mp4"))

        try await server.expectArrived("random.mp4", of: agent, key: key, size: size)
        try await server.expectArrived("sparse.mp4", of: agent, key: sparse, size: size + 1)
    }

    static let oddNames = [
        "two words.jpg", "a+b&c=d?e#f%20.jpg", "café \u{1F3D6}\u{FE0F}.jpg", "it's \"quoted\".jpg", "line\nbreak.jpg",
        "back\\slash.jpg", "sub dir/<ü>;,@:$.jpg", "-rf.jpg", "cafe\u{301}.jpg",
    ]

    @Test("keep files with odd names", arguments: RealServer.all)
    func oddNames(server: RealServer) async throws {
        let agent = try server.agent()
        try await agent.start()
        let names = Self.oddNames + [String(repeating: "x", count: 235) + ".jpg"]
        let keys = try names.map { try agent.drop($0, .jpeg, size: 3000) }
        let raw = SampleMedia.jpeg.bytes(size: 3000, seed: .random(in: 0 ... .max))
        try Files.write(raw, to: Array(agent.path("").utf8) + [0xFF, 0xE9] + Array(".jpg".utf8))

        for (name, key) in zip(names, keys) {
            try await server.expectArrived(name, of: agent, key: key, size: 3000)
        }
        try await Poll.until("the name that is not UTF-8", lastState: { agent.log }) {
            try server.contents(size: 3000, md5: Digest.md5(raw)).count == 1
        }
    }

    @Test("keep objects under the paths of their files", arguments: RealServer.stores)
    func keysFromPaths(server: RealServer) async throws {
        let prefix = "\(UUID().uuidString)/"
        let agent = try server.agent(["remote.key": "{prefix}{path}", "remote.prefix": .string(prefix)])
        try await agent.start()
        // moto finds no route for a newline, and SeaweedFS takes a backslash for a slash.
        let names = Self.oddNames.filter { !$0.contains("\n") && !$0.contains("\\") }
        let keys = try names.map { try agent.drop($0, .jpeg, size: 3000) }

        for (name, key) in zip(names, keys) {
            try await agent.reached(name, .done)
            #expect(try server.contents(size: 3000, md5: key).map { Array($0.utf8) } == [Array((prefix + name).utf8)])
        }
    }

    @Test("get the bytes of a second copy only once", arguments: RealServer.all)
    func duplicate(server: RealServer) async throws {
        let agent = try server.agent()
        try await agent.start()
        let seed = UInt64.random(in: 0 ... .max)
        let key = try agent.drop("one.jpg", .jpeg, size: 700_000, seed: seed)
        try await agent.reached("one.jpg", .done)

        try agent.drop("copy/two.jpg", .jpeg, size: 700_000, seed: seed)

        let copy = try await agent.reached("copy/two.jpg", .done)
        #expect(copy.deduplicated)
        #expect(try server.contents(size: 700_000, md5: key).count == 1)
    }

    @Test(
        "get content that they hold only once, also from an agent that knows nothing of it",
        arguments: RealServer.stores)
    func secondAgent(server: RealServer) async throws {
        let prefix = "\(UUID().uuidString)/"
        let size = 9 << 20
        let seed = UInt64.random(in: 0 ... .max)
        for (name, isKnown) in [("first", false), ("second", true)] {
            let agent = try server.agent(["remote.prefix": .string(prefix)])
            try await agent.start()
            let key = try agent.drop("\(name).mp4", .mp4, size: size, seed: seed)
            let sidecar = try await server.expectArrived("\(name).mp4", of: agent, key: key, size: size)
            #expect(sidecar.deduplicated == isKnown)
            try await agent.stop()
        }
    }

    @Test("keep an upload over a kill of the agent, which resumes it", arguments: RealServer.all)
    func resume(server: RealServer) async throws {
        let agent = try server.agent(Self.slow(server))
        try await agent.start()
        let key = try agent.drop("large.mp4", .mp4, size: Self.largeSize)
        let id = try await server.underWay("large.mp4", of: agent)
        try await agent.kill()

        try agent.configure(["upload.bandwidth_limit": "0"])
        try await agent.start()

        let sidecar = try await server.expectArrived("large.mp4", of: agent, key: key, size: Self.largeSize)
        // The agent resumed the upload that it had begun, rather than beginning another.
        #expect(sidecar.remote?.id == id)
        #expect(try !server.isOpen(id))
    }

    @Test("forget a cancelled upload", arguments: RealServer.all)
    func cancel(server: RealServer) async throws {
        let agent = try server.agent(Self.slow(server))
        try await agent.start()
        try agent.drop("large.mp4", .mp4, size: Self.largeSize)
        let id = try await server.underWay("large.mp4", of: agent)
        #expect(try server.isOpen(id))

        #expect(try await agent.command("cancel", "large.mp4").code == 0)

        try await agent.reached("large.mp4", .cancelled)
        try await Poll.until("no open upload", lastState: { agent.log }) { try !server.isOpen(id) }
    }

    /// A server and credentials that it refuses.
    struct Refusal: Sendable, CustomTestStringConvertible {
        let server: RealServer
        let environment: [String: String]

        var testDescription: String { "\(server.testDescription), \(environment)" }
        static let all = RealServer.all.flatMap { server in
            server.facts.wrong.map { Refusal(server: server, environment: $0) }
        }
    }

    @Test("refuse wrong credentials: the file waits as signed_out until they are right", arguments: Refusal.all)
    func wrongCredentials(refusal: Refusal) async throws {
        let server = refusal.server
        let agent = try server.agent(environment: refusal.environment)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 3000)
        try await agent.reached("a.jpg", .signedOut)
        #expect(try server.contents(size: 3000, md5: key).isEmpty)
        try await agent.stop()

        agent.environment.merge(server.facts.environment) { $1 }
        try await agent.start()

        try await server.expectArrived("a.jpg", of: agent, key: key, size: 3000)
    }

    @Test("prove that they hold a file before it is deleted", arguments: RealServer.all)
    func deleteAfterUpload(server: RealServer) async throws {
        let agent = try server.agent(["intake.after_upload": "delete"])
        try await agent.start()
        let seed = UInt64.random(in: 0 ... .max)
        let key = try agent.drop("a.mp4", .mp4, size: 9 << 20, seed: seed)
        try await Poll.until("the file to be deleted", lastState: { agent.log }) { !agent.exists("a.mp4") }
        // Its content is confirmed already, so the agent asks for a proof.
        try agent.drop("b.mp4", .mp4, size: 9 << 20, seed: seed)

        try await Poll.until("the copy to be deleted", lastState: { agent.log }) { !agent.exists("b.mp4") }

        try await agent.reached("b.mp4", .done)
        #expect(try server.contents(size: 9 << 20, md5: key).count == 1)
    }

    @Test("keep the manifest of a post", arguments: RealServer.stores)
    func post(server: RealServer) async throws {
        let prefix = "\(UUID().uuidString)/"
        let agent = try server.agent(["remote.prefix": .string(prefix)])
        try await agent.start()
        try agent.writeSource("sea", "title = \"Sea\"\n", ["a.jpg": .jpeg(2000), "b.mp4": .mp4(6 << 20)])

        let post = try await agent.reached(source: "sea", .done)

        let manifest = "\(prefix)posts/\(post.id)/1.json"
        #expect(try server.keys(prefix: "\(prefix)posts/") == [manifest])
        #expect(try server.object(manifest).contains("Sea"))
    }
}

/// The one at work is killed, so no other test runs meanwhile.
@Suite(
    "Real servers under load", .heavy, .enabled(if: RealServer.directory != nil, "make test-servers starts the servers")
)
struct RealServerKillTests {
    @Test(
        "lose nothing when they are killed and restarted",
        arguments: RealServer.all.filter { $0.facts.keeps != .nothing })
    func kill(server: RealServer) async throws {
        let agent = try server.agent(RealServerTests.slow(server))
        try await agent.start()
        let large = try agent.drop("large.mp4", .mp4, size: RealServerTests.largeSize)
        _ = try await server.underWay("large.mp4", of: agent)
        let names = (0..<20).map { "\($0).jpg" }
        let keys = try names.map { try agent.drop($0, .jpeg, size: 100_000) }

        try server.kill()
        try await agent.reached("large.mp4", .uploading, .waiting, .queued) { $0.attempts > 0 || $0.error != nil }
        try server.restart()
        try agent.configure(["upload.bandwidth_limit": "0"])
        agent.program?.kill(SIGHUP)

        try await server.expectArrived("large.mp4", of: agent, key: large, size: RealServerTests.largeSize)
        for (name, key) in zip(names, keys) {
            try await server.expectArrived(name, of: agent, key: key, size: 100_000)
        }
    }
}

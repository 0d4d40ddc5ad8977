import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("An S3 store", .agents)
struct S3Tests {
    private func agent(
        _ server: S3Server, _ settings: Settings = [:], environment: [String: String] = S3Server.keys
    ) throws -> Agent {
        let usual: Settings = [
            "remote.protocol": "s3", "remote.bucket": .string(S3Server.bucket), "remote.part_size": "5MiB",
        ]
        return try Agent(remote: server.url, usual.merging(settings) { $1 }, environment: environment)
    }

    @Test("gets a file, and the sidecar names the object")
    func arrival() async throws {
        let server = try S3Server()
        let agent = try agent(server, ["remote.prefix": "camera/"])
        try await agent.start()
        let key = try agent.drop("trip/a b.jpg", .jpeg, size: 700_000)
        let sidecar = try await agent.reached("trip/a b.jpg", .done)
        #expect(server.objects.mapValues { Digest.md5($0.bytes) } == ["camera/\(key).jpg": key])
        #expect(sidecar.remote?.protocol == "s3" && sidecar.remote?.id == "camera/\(key).jpg")
        #expect(sidecar.remote?.url == "\(server.url)/\(S3Server.bucket)/camera/\(key).jpg")
        #expect(sidecar.fragments?.total == 2 && sidecar.fragments?.finished == 2 && sidecar.progress == 1)
        let fields = server.objects.values.first?.fields ?? [:]
        #expect(fields["x-amz-meta-md5"] == key && fields["x-amz-meta-path"] == "trip/a%20b.jpg")
        #expect(fields["content-type"] == "image/jpeg")
        #expect(Double(fields["x-amz-meta-mtime"] ?? "") ?? 0 > 1_600_000_000)
    }

    @Test("keeps names apart, and overwrites nothing")
    func names() async throws {
        let server = try S3Server()
        let agent = try agent(server, ["remote.key": "{name}"])
        try await agent.start()
        try agent.drop("a/sea.jpg", .jpeg, size: 1000, seed: 1)
        try await agent.reached("a/sea.jpg", .done)
        try agent.drop("b/sea.jpg", .jpeg, size: 1000, seed: 2)
        let second = try await agent.reached("b/sea.jpg", .done)
        #expect(second.remote?.id == "sea (2).jpg")
        #expect(server.objects.keys.sorted() == ["sea (2).jpg", "sea.jpg"])
    }

    @Test("gets only the missing parts after a kill of the agent")
    func kill() async throws {
        // Ten parts, at most one of which is on its way at a time.
        let server = try S3Server(delay: .milliseconds(100))
        let agent = try agent(server, ["upload.fragments_in_flight": 1])
        try await agent.start()
        let key = try agent.drop("film.mp4", .mp4, size: 50_000_000)
        try await Poll.until("two parts", lastState: { agent.log }) { server.arrivedBytes >= 10 << 20 }
        try await agent.kill()
        server.setDelay(.zero)
        try await agent.start()
        try await agent.reached("film.mp4", .done)
        #expect(server.objects.values.map { Digest.md5($0.bytes) } == [key])
        #expect(server.repeatedBytes <= 5 << 20 && server.openUploads == 0)
    }

    @Test("forgets the parts of a cancelled upload")
    func cancel() async throws {
        let server = try S3Server(delay: .seconds(3))
        let agent = try agent(server, ["upload.fragments_in_flight": 1])
        try await agent.start()
        try agent.drop("film.mp4", .mp4, size: 50_000_000)
        try await Poll.until("a part", lastState: { agent.log }) { server.arrivedBytes > 0 }
        #expect(server.openUploads == 1)
        #expect(try await agent.command("cancel", "film.mp4").code == 0)
        try await agent.reached("film.mp4", .cancelled)
        try await Poll.until("the upload to be gone", lastState: { agent.log }) { server.openUploads == 0 }
        #expect(server.objects.isEmpty)
    }

    @Test("is not sent what it has")
    func deduplicated() async throws {
        let server = try S3Server()
        let first = try agent(server)
        try await first.start()
        try first.drop("a.jpg", .jpeg, size: 1000, seed: 7)
        try await first.reached("a.jpg", .done)
        let second = try agent(server)
        try await second.start()
        try second.drop("b.jpg", .jpeg, size: 1000, seed: 7)
        let sidecar = try await second.reached("b.jpg", .done)
        #expect(sidecar.deduplicated == true)
        #expect(server.objects.count == 1 && server.arrivedBytes == 1000)
    }

    @Test("without keys, files are signed out until there are some")
    func withoutKeys() async throws {
        let server = try S3Server()
        let keys = try TemporaryDirectory()
        let agent = try agent(
            server,
            [
                "remote.access_key_file": .string(keys.path("id")),
                "remote.secret_key_file": .string(keys.path("secret")),
            ], environment: [:])
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 1000)
        let waiting = try await agent.reached("a.jpg", .signedOut)
        #expect(waiting.error?.code == "signed_out")
        try Data("outboxsecret\n".utf8).write(to: URL(fileURLWithPath: keys.path("secret")))
        try Data("outboxaccess\n".utf8).write(to: URL(fileURLWithPath: keys.path("id")))
        try await agent.reached("a.jpg", .done)
    }
}

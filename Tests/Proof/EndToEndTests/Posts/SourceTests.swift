import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("A post", .agents)
struct SourceTests {
    @Test("needs one preLoad and one isFinish, and is done only once its commit is confirmed")
    func straight() async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .commit ? .status(503) : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let files: [String: [UInt8]] = [
            "beach.jpg": .jpeg(900_000), "day 2/gull.jpg": .jpeg(2000), "waves.mp4": .mp4(600_000),
        ]
        let names = ["beach.jpg", "day 2/gull.jpg", "waves.mp4"]
        try agent.writeSource("sea", "title = \"A day at the sea\"\ncover = \"waves.mp4\"\n", files)

        try await Poll.until("the first commit", lastState: { agent.log }) { server.count(.commit) > 0 }
        let held = try await agent.reached(source: "sea", .verifying, .waiting) {
            $0.files.allSatisfy { $0.state == .done }
        }
        #expect(held.progress < 1)
        #expect(held.progress > 0)
        #expect(held.url == nil)
        #expect(held.finished_at == nil)
        for name in names { try await agent.reached("sea/\(name)", .done) }
        server.setFaults { _, _ in nil }
        let done = try await agent.reached(source: "sea", .done)

        let ends = try names.map { try #require(files[$0]) }.map { Digest.md5($0) }
        expectClean(server, finished: ends)
        #expect(server.registrations.map { $0.sorted() } == [["beach.jpg", "gull.jpg", "waves.mp4"]])
        #expect(server.questions.map { $0.sorted() } == [["beach.jpg", "gull.jpg", "waves.mp4"]])
        let post = try #require(server.store.posts.post(titled: "A day at the sea"))
        #expect(server.store.posts.posts.count == 1)
        #expect(post.files.map(\.md5) == ends)
        #expect(post.cover?.name == "waves.mp4")
        #expect(post.payload.sourceId == done.id)
        #expect(post.payload.revision == 1)

        #expect((done.revision, done.progress, done.url) == (1, 1, post.url))
        #expect(done.path == "sea")
        #expect(done.title == "A day at the sea")
        #expect(done.cover == "waves.mp4")
        #expect(done.names == names)
        #expect(done.files.map(\.path) == names.map { "sea/\($0)" })
        #expect(done.files.map(\.key) == ends)
        #expect(done.size == files.values.map(\.count).reduce(0, +))
        #expect((done.skipped, done.pending_changes) == ([], []))
        #expect(Sidecar.date(done.finished_at) != nil)
    }

    @Test("is what wait waits for if its source.toml is named")
    func waitForDescription() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.writeSource("sea", "", ["a.jpg": .jpeg(2000)])
        let output = try await agent.command("wait", "sea/source.toml", "--timeout", "120s")
        #expect(output.code == 0, "\(output)")
        #expect(try await agent.reached(source: "sea", .done).revision == 1)
    }

    @Test("has every key in its sidecar, during the upload and at its end")
    func members() async throws {
        let server = try FaultServer()
        server.hold(after: 3)
        let agent = try Agent(remote: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        try agent.writeSource("sea", "", ["a.mp4": .mp4(20 * 524_288), "b.jpg": .jpeg(2000)])
        func members() throws -> Set<String> {
            let data = try #require(FileManager.default.contents(atPath: agent.path("sea/source.outbox.json")))
            #expect(data.last == UInt8(ascii: "\n"))
            return Set(try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any]).keys)
        }

        // The small file may finish, and count as progress, before any fragment of the large file.
        let way = try await agent.reached(source: "sea", .uploading) { ($0.file("a.mp4")?.progress ?? 0) > 0 }
        #expect(way.revision == 1)
        #expect(0 < way.progress && way.progress < 1)
        let large = try #require(way.file("a.mp4"))
        #expect(large.state == .uploading)
        #expect(large.progress < 1)
        #expect(try members().isSuperset(of: SourceSidecar.keys))
        server.letGo()
        try await agent.reached(source: "sea", .done)
        #expect(try members().isSuperset(of: SourceSidecar.keys))
        #expect(server.store.repeated == 0)
    }

    @Test("is named after its directory, with its first picture as cover, if source.toml says nothing")
    func defaults() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.writeSource(
            "2026/Côte d'Azur", "", ["a.mp4": .mp4(3000), "b/c.jpg": .jpeg(2000), "d.jpg": .jpeg(2001)])
        try agent.writeSource("clips", "title = \"  \"\r\n", ["2.mp4": .mp4(4000), "1.mp4": .mp4(4001)])

        let pictures = try await agent.reached(source: "2026/Côte d'Azur", .done)
        #expect((pictures.title, pictures.cover) == ("Côte d'Azur", "b/c.jpg"))
        #expect(server.store.posts.post(titled: "Côte d'Azur")?.cover?.name == "c.jpg")
        let clips = try await agent.reached(source: "clips", .done)
        #expect((clips.title, clips.cover) == ("clips", "1.mp4"))
        #expect(server.store.posts.post(titled: "clips")?.cover?.name == "1.mp4")
    }

    @Test("omits rejected files and lists them as skipped, and files outside are uploaded separately")
    func leftOut() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.writeSource(
            "sea", "",
            ["a.jpg": .jpeg(2000), "empty.jpg": [], "notes.txt": Array("no picture".utf8), ".hidden.jpg": .jpeg(3000)])
        let alone = try agent.drop("alone.jpg", .jpeg, size: 4000)

        let done = try await agent.reached(source: "sea", .done)
        #expect(done.names == ["a.jpg"])
        #expect(done.skipped == ["empty.jpg", "notes.txt"])
        try await agent.reached("alone.jpg", .done)
        #expect(server.store.posts.post(titled: "sea")?.files.count == 1)
        #expect(server.finished.count == 2)
        #expect(server.finished.contains(alone))
    }

    @Test("keeps its sidecar's name even if a file is named source")
    func reservedName() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("sea/source", .jpeg(2000))
        try await agent.reached("sea/source", .done)
        try agent.describe("sea", "title = \"Sea\"\n")

        try await Poll.until("the sidecars to stand in their places", lastState: { agent.log }) {
            (try? agent.source("sea"))?.state == .done
                && (try? agent.sidecar(named: "sea/source (2).outbox.json"))?.path == "sea/source"
        }
        #expect(server.store.posts.post(titled: "Sea")?.files.map(\.name) == ["source"])
    }

    @Test("is shown by status and awaited by wait")
    func commands() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.writeSource("sea", "title = \"A day\"\n", ["a.jpg": .jpeg(2000), "b.jpg": .jpeg(2001)])

        let wait = try await agent.command("wait", "sea", "--json", "--timeout", "60s")
        #expect(wait.code == 0, "\(wait)")
        // The command asks the agent, which writes sidecars independently of its answers.
        try await agent.reached(source: "sea", .done)
        let status = try await agent.command("status", "--json")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(status.standardOutput.utf8)) as? [String: Any])
        let source = try #require((object["sources"] as? [[String: Any]])?.first)
        #expect(source["title"] as? String == "A day")
        #expect(source["url"] as? String == server.store.posts.post(titled: "A day")?.url)
        let text = try await agent.command("status", "sea")
        #expect(text.standardOutput.contains("A day"), "\(text)")
        #expect(text.standardOutput.contains("a.jpg"), "\(text)")
    }
}

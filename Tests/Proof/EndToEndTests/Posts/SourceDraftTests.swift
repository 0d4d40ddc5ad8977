import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("A draft", .agents)
struct SourceDraftTests {
    private static let block = 524_288

    /// Checks that the server got no request at all.
    private func expectNothingSent(to server: FaultServer, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(server.records.map(\.endpoint) == [], sourceLocation: sourceLocation)
    }

    @Test("is not sent, survives a kill and can be edited, and submit sends the final files")
    func edited() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let kept: [UInt8] = .jpeg(2000)
        try agent.writeSource(
            "sea", "title = \"First\"\ndraft = true\n",
            ["gone.jpg": .jpeg(2001), "kept.jpg": kept, "replaced.jpg": .jpeg(2002)])
        let first = try await agent.reached(source: "sea", .draft) {
            $0.names == ["gone.jpg", "kept.jpg", "replaced.jpg"]
        }
        #expect(first.revision == 0)

        agent.remove("sea/gone.jpg")
        let replaced = try agent.drop("sea/replaced.jpg", .jpeg, size: 2003)
        try await agent.reached(source: "sea", .draft) {
            $0.names == ["kept.jpg", "replaced.jpg"] && $0.file("replaced.jpg")?.key == replaced
        }
        try await agent.kill()
        let later = try agent.drop("sea/later.jpg", .jpeg, size: 2004)
        try agent.describe("sea", "title = \"Second\"\ndraft = true\n")
        try await agent.start()
        try await agent.reached(source: "sea", .draft) { $0.names.contains("later.jpg") && $0.title == "Second" }
        #expect(try await agent.command("wait", "--timeout", "60s").code == 0, "wait for all is not for drafts")
        expectNothingSent(to: server)

        #expect(try await agent.command("submit", "sea").code == 0)
        let done = try await agent.reached(source: "sea", .done)
        #expect(done.id == first.id)
        let post = try #require(server.store.posts.post(titled: "Second"))
        #expect(post.payload.revision == 1)
        #expect(post.files.map(\.md5) == [Digest.md5(kept), later, replaced])
        #expect(server.store.posts.posts.count == 1)
        #expect(server.registrations.count == 1)
        expectClean(server, finished: [Digest.md5(kept), later, replaced])
    }

    @Test("is submitted when source.toml says draft = false, however the editor saves the file")
    func editors() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let ways = ["copied", "overwritten", "renamed", "sed"]
        for (index, way) in ways.enumerated() {
            try agent.writeSource(way, "# mine\ndraft = true\n", ["\(way).jpg": .jpeg(2000 + index)])
        }
        for way in ways { try await agent.reached(source: way, .draft) }
        expectNothingSent(to: server)

        let submitted = Array("# mine\ndraft = false\n".utf8)
        try Files.write(submitted, to: agent.path("overwritten/source.toml"))
        // Like vim with backupcopy=no: renames the old file and writes the new one under its name.
        try Files.rename(agent.path("copied/source.toml"), to: agent.path("copied/source.toml~"))
        try Files.write(submitted, to: agent.path("copied/source.toml"))
        agent.remove("copied/source.toml~")
        try Files.write(submitted, to: agent.path("renamed/source.toml.new"))
        try Files.rename(agent.path("renamed/source.toml.new"), to: agent.path("renamed/source.toml"))
        let sed = try await Program.run(
            "/bin/sed", ["-i", "s/true/false/", agent.path("sed/source.toml")], environment: [:],
            directory: agent.outbox)
        #expect(sed.code == 0, "\(sed)")

        for way in ways {
            let done = try await agent.reached(source: way, .done)
            #expect(done.names == ["\(way).jpg"])
            #expect((done.revision, done.skipped, done.pending_changes) == (1, [], []))
        }
        #expect(server.store.posts.posts.count == ways.count)
        #expect(server.store.violations == [])
    }

    @Test("that appears while its files upload stops them and keeps their progress, across a kill")
    func stopsFiles() async throws {
        let server = try FaultServer()
        server.hold(after: 3)
        let agent = try Agent(remote: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        let large = try agent.drop("sea/a.jpg", .jpeg, size: 30 * Self.block)
        try await Poll.until("fragments on their way", lastState: { agent.log }) { server.count(.upload) > 2 }

        try agent.describe("sea", "title = \"Sea\"\ndraft = true\n")
        let small = try agent.drop("sea/b.jpg", .jpeg, size: 2000)
        try await agent.reached(source: "sea", .draft) {
            $0.names == ["a.jpg", "b.jpg"] && $0.file("b.jpg")?.key != nil
        }
        let held = try #require(server.store.arrivals[large]?.count)
        server.letGo()
        // While this file uploads, fragments of a.jpg would arrive if a.jpg were not stopped.
        let witness = try agent.drop("witness.jpg", .jpeg, size: 2 * Self.block)
        try await agent.reached("witness.jpg", .done)
        let sent = try #require(server.store.arrivals[large]?.count)
        #expect(sent <= held + 1)
        try await agent.kill()
        try await agent.start()
        let still = try await agent.reached(source: "sea", .draft) { $0.names == ["a.jpg", "b.jpg"] }
        #expect((still.file("a.jpg")?.progress ?? 0) > 0)
        let again = try agent.drop("again.jpg", .jpeg, size: 2002)
        try await agent.reached("again.jpg", .done)
        #expect(server.store.arrivals[large]?.count == sent)
        #expect(server.store.arrivals[small] == nil)
        #expect(server.deletions == [])

        #expect(try await agent.command("submit", "sea").code == 0)
        try await agent.reached(source: "sea", .done)
        expectClean(server, finished: [large, small, witness, again])
        #expect(server.store.repeated <= 1)
        #expect(server.store.posts.post(titled: "Sea")?.files.map(\.md5) == [large, small])
    }

    @Test("is not needed: a post adopts files that already upload, and nothing is sent twice")
    func adopted() async throws {
        let server = try FaultServer()
        server.hold(after: 3)
        let agent = try Agent(remote: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        let done = try agent.drop("sea/a.jpg", .jpeg, size: 2000)
        try await agent.reached("sea/a.jpg", .done)
        let large = try agent.drop("sea/b.jpg", .jpeg, size: 30 * Self.block)
        try await Poll.until("fragments on their way", lastState: { agent.log }) { server.count(.upload) > 3 }

        let new = try agent.drop("sea/c.jpg", .jpeg, size: 2001)
        try agent.describe("sea", "title = \"Sea\"\n")

        try await agent.reached(source: "sea", .uploading, .verifying, .done)
        server.letGo()
        try await agent.reached(source: "sea", .done)
        expectClean(server, finished: [done, large, new])
        #expect(server.store.repeated <= 1)
        #expect(server.deletions == [])
        #expect(server.store.posts.post(titled: "Sea")?.files.map(\.md5) == [done, large, new])
    }

    @Test("can be made of a post during its upload, which keeps its progress")
    func madeAgain() async throws {
        let server = try FaultServer()
        server.hold(after: 3)
        let agent = try Agent(remote: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        let large: [UInt8] = .jpeg(30 * Self.block)
        try agent.writeSource("sea", "title = \"Sea\"\n", ["a.jpg": large])
        try await Poll.until("fragments on their way", lastState: { agent.log }) { server.count(.upload) > 2 }

        try agent.describe("sea", "title = \"Sea\"\ndraft = true\n")
        try await agent.reached(source: "sea", .draft)
        server.letGo()
        let witness = try agent.drop("witness.jpg", .jpeg, size: 2001)
        try await agent.reached("witness.jpg", .done)
        #expect(server.store.posts.posts.isEmpty)
        let submitted = try await agent.command("submit", "sea", "--json")
        #expect(submitted.code == 0, "\(submitted)")

        try await agent.reached(source: "sea", .done)
        expectClean(server, finished: [Digest.md5(large), witness])
        #expect(server.store.repeated <= 1)
        #expect(server.store.posts.posts.count == 1)
    }
}

import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("A post that changes", .agents)
struct SourceChangeTests {
    @Test("is committed without a file removed before its upload, and lists it as skipped")
    func vanished() async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .preLoad ? .status(503) : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let kept: [UInt8] = .jpeg(2000)
        try agent.writeSource("sea", "title = \"Sea\"\n", ["a.jpg": kept, "b.jpg": .jpeg(2001)])
        let taken = try await agent.reached(source: "sea", .waiting, .queued, .uploading) { $0.revision == 1 }
        #expect(taken.names == ["a.jpg", "b.jpg"])

        agent.remove("sea/b.jpg")
        try await agent.reached(source: "sea", .waiting, .queued, .uploading) { $0.skipped == ["b.jpg"] }
        server.setFaults { _, _ in nil }

        let done = try await agent.reached(source: "sea", .done)
        #expect((done.names, done.skipped) == (["a.jpg"], ["b.jpg"]))
        expectClean(server, finished: [Digest.md5(kept)])
        #expect(server.store.posts.post(titled: "Sea")?.files.map(\.md5) == [Digest.md5(kept)])
    }

    @Test("takes additions, changes and removals with submit, as the next revision of the same post")
    func nextRevision() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let kept: [UInt8] = .jpeg(2000)
        let files: [String: [UInt8]] = ["changed.jpg": .jpeg(2001), "gone.jpg": .jpeg(2002), "kept.jpg": kept]
        try agent.writeSource("sea", "title = \"Sea\"\n", files)
        let first = try await agent.reached(source: "sea", .done)

        let added = try agent.drop("sea/added.jpg", .jpeg, size: 2003)
        let changed = try agent.drop("sea/changed.jpg", .jpeg, size: 2004)
        agent.remove("sea/gone.jpg")
        try agent.describe("sea", "title = \"Two days\"\n")
        let pending = ["added.jpg", "changed.jpg", "gone.jpg", "source.toml"]
        try await agent.reached(source: "sea", .done) { $0.pending_changes == pending }
        try await agent.stop()
        try await agent.start()
        let still = try await agent.reached(source: "sea", .done) { $0.pending_changes == pending }
        #expect((still.revision, still.title) == (1, "Sea"))
        #expect(server.registrations.count == 1)

        #expect(try await agent.command("submit", "sea").code == 0)
        let second = try await agent.returned(source: "sea", to: .done) { $0.revision == 2 }

        #expect(second.id == first.id)
        #expect((second.title, second.pending_changes) == ("Two days", []))
        let revisions = server.store.posts.revisions(of: first.id)
        #expect(revisions.map(\.payload.title) == ["Sea", "Two days"])
        #expect(revisions.map(\.payload.revision) == [1, 2])
        #expect(revisions.last?.files.map(\.md5) == [added, changed, Digest.md5(kept)])
        #expect(Set(revisions.map(\.payload.createDate)).count == 1)
        #expect(server.registrations.dropFirst() == [["added.jpg", "changed.jpg"]])
        #expect(server.store.repeated == 0)
        #expect(server.deletions == [])
        expectClean(server, finished: files.values.map { Digest.md5($0) } + [added, changed])
        let third = try await agent.command("submit", "sea")
        #expect(third.code == 0, "\(third)")
        #expect(server.store.posts.posts.count == 2)
    }

    @Test("takes the next number if the agent's state is an older copy, so that the post lacks no file")
    func olderState() async throws {
        let receiver = try await Receiver.started()
        let agent = try Agent(remote: receiver.url)
        try await agent.start()
        try agent.writeSource("sea", "title = \"Sea\"\n", ["a.jpg": .jpeg(2000)])
        try await agent.reached(source: "sea", .done)
        try await agent.stop()
        let copy = agent.directory.path("copy")
        try FileManager.default.copyItem(atPath: agent.state, toPath: copy)

        try await agent.start()
        try agent.drop("sea/b.jpg", .jpeg, size: 2001)
        try await agent.reached(source: "sea", .done) { $0.pending_changes == ["b.jpg"] }
        #expect(try await agent.command("submit", "sea").code == 0)
        try await agent.returned(source: "sea", to: .done) { $0.revision == 2 }
        try await agent.stop()
        try FileManager.default.removeItem(atPath: agent.state)
        try Files.rename(copy, to: agent.state)

        try agent.drop("sea/c.jpg", .jpeg, size: 2002)
        try await agent.start()
        try await agent.reached(source: "sea", .done) { $0.pending_changes == ["b.jpg", "c.jpg"] }
        #expect(try await agent.command("submit", "sea").code == 0)
        let last = try await agent.returned(source: "sea", to: .done) { $0.revision == 3 }
        #expect(last.names == ["a.jpg", "b.jpg", "c.jpg"])
    }

    @Test("takes files dropped during the upload with submit, in the revision not yet committed")
    func sameRevision() async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .preLoad ? .status(503) : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let first: [UInt8] = .jpeg(2000)
        try agent.writeSource("sea", "", ["a.jpg": first])
        try await agent.reached(source: "sea", .waiting)
        let added = try agent.drop("sea/b.jpg", .jpeg, size: 2001)
        try await agent.reached(source: "sea", .waiting, .queued, .uploading) { $0.pending_changes == ["b.jpg"] }

        // Submit while the server refuses every preLoad: later, the agent may already have sent the commit.
        #expect(try await agent.command("submit", "sea").code == 0)
        server.setFaults { _, _ in nil }
        let done = try await agent.returned(source: "sea", to: .done) { $0.names.count == 2 }

        #expect(done.revision == 1)
        let last = try #require(server.store.posts.revisions(of: done.id).last)
        #expect(last.files.map(\.md5) == [Digest.md5(first), added])
        expectClean(server, finished: [Digest.md5(first), added])
    }

    @Test("sends only the file again that the server could not assemble, then commits once")
    func assembledAgain() async throws {
        let server = try FaultServer(faults: { endpoint, number in
            endpoint == .isFinish && number == 1 ? .assemblyFailedFor(["b.jpg"]) : nil
        })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let (a, b): ([UInt8], [UInt8]) = (.jpeg(600_000), .jpeg(600_001))
        try agent.writeSource("sea", "title = \"Sea\"\n", ["a.jpg": a, "b.jpg": b])

        try await agent.reached(source: "sea", .done)

        expectClean(server, finished: [Digest.md5(a), Digest.md5(b)])
        #expect(server.store.arrivals[Digest.md5(a)] == [1: 1, 2: 1])
        #expect(server.store.arrivals[Digest.md5(b)] == [1: 2, 2: 2])
        #expect(server.count(.commit) == 1)
        #expect(server.store.posts.post(titled: "Sea")?.files.count == 2)
    }

    @Test("fails with the name of a file that the server cannot assemble, and retry sends it again")
    func refusedFile() async throws {
        let server = try FaultServer(faults: { endpoint, _ in
            endpoint == .isFinish ? .assemblyFailedFor(["b.jpg"]) : nil
        })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let files: [String: [UInt8]] = ["a.jpg": .jpeg(2000), "b.jpg": .jpeg(2001)]
        try agent.writeSource("sea", "title = \"Sea\"\n", files)

        let failed = try await agent.reached(source: "sea", .failed)
        #expect(failed.error?.code == "file_failed")
        #expect(failed.error?.message.contains("b.jpg") == true)
        #expect(failed.progress < 1)
        #expect(failed.file("b.jpg")?.error?.code == "assembly_failed")
        #expect(server.count(.commit) == 0)
        #expect(try await agent.command("wait", "sea").code == 1)
        server.setFaults { _, _ in nil }
        #expect(try await agent.command("retry", "sea").code == 0)

        let done = try await agent.returned(source: "sea", to: .done)
        #expect(done.error == nil)
        #expect(server.store.posts.post(titled: "Sea")?.files.count == 2)
        expectClean(server, finished: files.values.map { Digest.md5($0) })
    }

    @Test("is rejected with 51 files and the limit named, and accepted once a file is removed")
    func tooMany() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let numbers = 10...60
        let files = Dictionary(uniqueKeysWithValues: numbers.map { ("\($0).jpg", [UInt8].jpeg(1000 + $0)) })
        try agent.writeSource("many", "", files)

        let rejected = try await agent.reached(source: "many", .rejected)
        #expect(rejected.error?.code == "too_many_files")
        #expect(rejected.error?.message.contains("50") == true)
        #expect(server.records.map(\.endpoint) == [])
        agent.remove("many/60.jpg")

        let done = try await agent.returned(source: "many", to: .done)
        #expect(done.files.count == 50)
        #expect(server.registrations.map(\.count) == [50])
        #expect(server.questions.map(\.count) == [50])
        #expect(server.store.posts.post(titled: "many")?.files.count == 50)
        #expect(server.store.violations == [])
    }

    @Test("is rejected with the line of the mistake in source.toml, and accepted once corrected")
    func malformed() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.writeSource("sea", "title = \"Sea\"\n\ndrft = true\n", ["a.jpg": .jpeg(2000)])
        try agent.writeSource("lake", "cover = \"none.jpg\"\n", ["a.jpg": .jpeg(2001)])

        let rejected = try await agent.reached(source: "sea", .rejected)
        #expect(rejected.error?.code == "malformed_source")
        #expect(rejected.error?.message.contains("line 3") == true)
        #expect(rejected.error?.message.contains("draft") == true)
        #expect(try await agent.reached(source: "lake", .rejected).error?.code == "no_cover")
        let submit = try await agent.command("submit", "sea")
        #expect(submit.code == 1, "\(submit)")
        #expect(server.records.map(\.endpoint) == [])
        try agent.describe("sea", "title = \"Sea\"\n")
        try agent.describe("lake", "cover = \"a.jpg\"\n")

        for directory in ["sea", "lake"] { try await agent.returned(source: directory, to: .done) }
        #expect(server.store.posts.post(titled: "Sea") != nil)
        #expect(server.store.posts.post(titled: "lake")?.cover?.name == "a.jpg")
    }

    @Test("contains all files below it, even if a subdirectory has its own source.toml")
    func nested() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.writeSource(
            "sea", "title = \"Outer\"\n",
            ["a.jpg": .jpeg(2000), "inner/b.jpg": .jpeg(2001), "inner/source.toml": Array("title = \"Inner\"\n".utf8)])

        let done = try await agent.reached(source: "sea", .done)
        #expect(done.names == ["a.jpg", "inner/b.jpg"])
        // The agent may see either of the two descriptions first.
        try await Poll.until("the inner one to be none", lastState: { agent.log }) {
            try agent.source("sea/inner") == nil
        }
        #expect(server.store.posts.posts.values.map(\.payload.title) == ["Outer"])
    }

    @Test("turns into ordinary files when its source.toml is removed")
    func dissolved() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.writeSource("sea", "draft = true\n", ["a.jpg": .jpeg(2000), "b.jpg": .jpeg(2001)])
        try await agent.reached(source: "sea", .draft) { $0.names.count == 2 }
        #expect(server.records.map(\.endpoint) == [])

        agent.remove("sea/source.toml")

        for name in ["sea/a.jpg", "sea/b.jpg"] { try await agent.reached(name, .done) }
        try await Poll.until("its sidecar to go", lastState: { agent.log }) { try agent.source("sea") == nil }
        #expect(server.store.posts.posts.isEmpty)
        #expect(server.count(.commit) == 0)
    }
}

import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("A commit that fails", .agents)
struct SourceFaultTests {
    typealias Fault = FaultServer.Fault

    private func payloads(_ server: FaultServer) -> [Data] {
        server.records.filter { $0.endpoint == .commit }.map(\.body)
    }

    @Test("however it fails, is repeated byte for byte, and makes one post")
    func again() async throws {
        let faults: [Fault] = [.status(404), .lostReply, .truncated, .reset, .status(503), .garbage, .html]
        let server = try FaultServer(faults: { endpoint, number in
            endpoint == .commit && number <= faults.count ? faults[number - 1] : nil
        })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let files: [String: [UInt8]] = ["a.jpg": .jpeg(600_000), "b.jpg": .jpeg(2001)]
        try agent.writeSource("sea", "title = \"Sea\"\n", files)

        let done = try await agent.reached(source: "sea", .done)

        let sent = payloads(server)
        #expect(sent.count == faults.count + 1)
        #expect(Set(sent).count == 1, "\(sent.map { String(decoding: $0, as: UTF8.self) })")
        #expect(done.url == server.store.posts.post(titled: "Sea")?.url)
        #expect(server.store.posts.posts.count == 1)
        expectClean(server, finished: files.values.map { Digest.md5($0) })
        #expect(server.store.repeated == 0)
    }

    @Test("because its reply was lost is repeated unchanged after a kill, even if the title changed")
    func againAfterKill() async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .commit ? .lostReply : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.writeSource("sea", "title = \"Sea\"\n", ["a.jpg": .jpeg(2000)])
        try await Poll.until("the commit", lastState: { agent.log }) { server.count(.commit) > 0 }
        try await agent.kill()
        try agent.describe("sea", "title = \"Lake\"\n")
        let added = try agent.drop("sea/b.jpg", .jpeg, size: 2001)
        server.setFaults { _, _ in nil }
        try await agent.start()

        let done = try await agent.reached(source: "sea", .done) { $0.pending_changes == ["b.jpg", "source.toml"] }
        #expect(done.revision == 1)
        #expect(done.title == "Sea")
        #expect(Set(payloads(server)).count == 1)
        #expect(server.store.posts.contradictions == [])
        #expect(!server.finished.contains(added))
        #expect(try await agent.command("submit", "sea").code == 0)
        try await agent.returned(source: "sea", to: .done) { $0.revision == 2 }
        #expect(server.store.posts.revisions(of: done.id).map(\.payload.title) == ["Sea", "Lake"])
        #expect(server.store.violations == [])
    }

    @Test("waits as long as Retry-After says, or until retry")
    func retryAfter() async throws {
        let server = try FaultServer(faults: { endpoint, number in
            endpoint == .commit && number == 1 ? .status(503, retryAfter: "600") : nil
        })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.writeSource("sea", "", ["a.jpg": .jpeg(2000)])

        let waiting = try await agent.reached(source: "sea", .waiting)
        let next = try #require(Sidecar.date(waiting.next_attempt_at))
        let updated = try #require(Sidecar.date(waiting.updated_at))
        #expect(next.timeIntervalSince(updated) > 500)
        #expect(waiting.error?.retryable == true)
        #expect(waiting.progress < 1)
        #expect(try await agent.command("retry", "sea").code == 0)

        try await agent.reached(source: "sea", .done)
        #expect(Set(payloads(server)).count == 1)
        #expect(server.store.posts.posts.count == 1)
    }

    @Test("because the session is refused is repeated after login, and no file is sent again")
    func signedOut() async throws {
        let server = try FaultServer(token: "right")
        let agent = try Agent(remote: server.url)
        try await login("right", agent)
        try await agent.start()
        server.setFaults { endpoint, _ in endpoint == .commit ? .status(401) : nil }
        try agent.writeSource("sea", "title = \"Sea\"\n", ["a.jpg": .jpeg(600_000)])

        let out = try await agent.reached(source: "sea", .signedOut)
        #expect(out.files.map(\.state) == [.done])
        #expect(out.progress < 1)
        // Require the new token before removing the fault: the commit must never succeed with the old token.
        server.require(token: "new")
        server.setFaults { _, _ in nil }
        try await login("new", agent)

        try await agent.reached(source: "sea", .done)
        let last = try #require(server.records.last { $0.endpoint == .commit })
        #expect(last.token == "new")
        #expect(Set(payloads(server)).count == 1)
        #expect(server.store.repeated == 0)
        #expect(server.store.posts.posts.count == 1)
        #expect(server.store.violations == [])
    }

    @Test("for good fails the post but not its files, and retry repeats the commit")
    func refused() async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .commit ? .status(422) : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.writeSource("sea", "title = \"Sea\"\n", ["a.jpg": .jpeg(2000)])

        let failed = try await agent.reached(source: "sea", .failed)
        #expect(failed.error?.message.contains("server says 422") == true, "\(failed.brief)")
        #expect(failed.error?.retryable == false)
        #expect(failed.progress < 1)
        try await agent.reached("sea/a.jpg", .done)
        server.setFaults { _, _ in nil }
        #expect(try await agent.command("retry", "sea").code == 0)

        try await agent.returned(source: "sea", to: .done)
        #expect(server.store.posts.posts.count == 1)
        #expect(server.store.repeated == 0)
    }

    @Test("because the server forgot a file has only that file sent again")
    func forgotten() async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .commit ? .status(503) : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let (kept, lost): ([UInt8], [UInt8]) = (.jpeg(600_000), .jpeg(600_001))
        let key = Digest.md5(lost)
        try agent.writeSource("sea", "title = \"Sea\"\n", ["kept.jpg": kept, "lost.jpg": lost])
        try await Poll.until("the commit", lastState: { agent.log }) { server.count(.commit) > 0 }
        server.change { store in
            for (id, upload) in store.uploads where upload.md5 == key { store.forget(id) }
        }
        server.setFaults { _, _ in nil }

        try await agent.reached(source: "sea", .done)

        #expect(server.store.arrivals == [Digest.md5(kept): [1: 1, 2: 1], key: [1: 2, 2: 2]])
        #expect(server.registrations.last == ["lost.jpg"])
        let post = try #require(server.store.posts.post(titled: "Sea"))
        #expect(post.files.map(\.md5) == [Digest.md5(kept), key])
        #expect(server.store.posts.contradictions == [])
        #expect(server.store.violations == [])
    }

    private func login(_ token: String, _ agent: Agent) async throws {
        let file = agent.directory.path("given")
        try Files.write(Array(token.utf8), to: file)
        let output = try await agent.command("login", "--user", "anna", "--token-file", file)
        #expect(output.code == 0, "\(output)")
    }
}

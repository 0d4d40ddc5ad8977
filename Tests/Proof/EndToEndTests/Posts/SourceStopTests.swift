import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("Commands that control posts", .agents)
struct SourceStopTests {
    private static let block = 524_288

    /// Returns an agent that sends one fragment at a time, and a server that holds each file after four fragments.
    private func held(_ settings: Settings = [:]) throws -> (FaultServer, Agent) {
        let server = try FaultServer(uploadDelay: .milliseconds(20))
        server.hold(after: 4)
        let usual: Settings = ["upload.fragments_in_flight": 1]
        return (server, try Agent(remote: server.url, usual.merging(settings) { $1 }))
    }

    private func command(_ agent: Agent, _ words: String...) async throws {
        let output = try await agent.command(words[0], words[1])
        #expect(output.code == 0, "\(words): \(output)")
    }

    /// Requests an action over the control interface. Returns the refusal if the agent had nothing to do.
    private func ask(_ agent: Agent, _ action: String, _ id: String) throws -> String? {
        let target = "/v1/sources/\(id)/\(action)"
        let answer = try #require(ControlSocket.ask("POST", target, socket: agent.socket))
        #expect(answer.status == 200, "\(action): \(answer)")
        let object = try #require(try JSONSerialization.jsonObject(with: answer.body) as? [String: Any])
        #expect((object["source"] as? [String: Any])?["id"] as? String == id)
        return object["refusal"] as? String
    }

    private func fragments(_ server: FaultServer, of key: String) -> Int { server.store.arrivals[key]?.count ?? 0 }

    @Test("pause does not stop other posts, outlasts a kill, and keeps the progress")
    func pause() async throws {
        let (server, agent) = try held()
        try await agent.start()
        let (large, other): ([UInt8], [UInt8]) = (.jpeg(30 * Self.block), .jpeg(4 * Self.block))
        let key = Digest.md5(large)
        try agent.writeSource("sea", "", ["a.jpg": large])
        try agent.writeSource("other", "", ["b.jpg": other])
        try await Poll.until("fragments on their way", lastState: { agent.log }) { fragments(server, of: key) > 2 }
        let id = try await agent.reached(source: "sea", .uploading).id

        try await command(agent, "pause", "sea")
        try await agent.reached(source: "sea", .paused)
        server.letGo()
        try await agent.reached(source: "other", .done)
        let sent = fragments(server, of: key)
        try await agent.kill()
        try await agent.start()
        let paused = try await agent.reached(source: "sea", .paused)
        #expect(paused.progress > 0)
        // While this file uploads, fragments of the paused one would arrive.
        let witness = try agent.drop("witness.jpg", .jpeg, size: 4 * Self.block)
        try await agent.reached("witness.jpg", .done)
        #expect(fragments(server, of: key) <= sent + 1)

        #expect(try ask(agent, "resume", id) == nil)
        let done = try await agent.reached(source: "sea", .done)
        #expect(done.id == id)
        expectClean(server, finished: [key, Digest.md5(other), witness])
        #expect(server.store.repeated <= 2)
        #expect(server.store.posts.posts.count == 2)
    }

    @Test("cancel deletes files on the server and outlasts a kill; retry sends them again")
    func cancel() async throws {
        let (server, agent) = try held()
        try await agent.start()
        let (large, small): ([UInt8], [UInt8]) = (.jpeg(30 * Self.block), .jpeg(2000))
        try agent.writeSource("sea", "", ["a.jpg": large, "b.jpg": small])
        try await Poll.until("fragments on their way", lastState: { agent.log }) { server.count(.upload) > 2 }
        let id = try await agent.reached(source: "sea", .uploading).id

        #expect(try ask(agent, "cancel", id) == nil)
        let cancelled = try await agent.reached(source: "sea", .cancelled)
        #expect(cancelled.error?.code == "cancelled")
        try await Poll.until("the deletes", lastState: { agent.log }) {
            Set(server.deletions.joined()).isSuperset(of: ["a.jpg"])
        }
        try await agent.kill()
        try await agent.start()
        #expect(try await agent.command("wait", "sea").code == 1)
        #expect(try agent.source("sea")?.state == .cancelled)
        #expect(server.store.posts.posts.isEmpty)
        #expect(agent.exists("sea/a.jpg"))

        server.letGo()
        try await command(agent, "retry", "sea")
        try await agent.returned(source: "sea", to: .done)
        #expect(
            server.store.posts.posts.values.map { $0.files.map(\.md5) } == [[Digest.md5(large), Digest.md5(small)]])
        #expect(server.store.violations == [])
        #expect(try ask(agent, "cancel", id) != nil, "the post is already done")
    }

    @Test("first moves a post to the head of the queue")
    func first() async throws {
        let (server, agent) = try held(["upload.files_in_flight": 1])
        try await agent.start()
        try agent.writeSource("0", "", ["0.jpg": .jpeg(60 * Self.block)])
        try await Poll.until("fragments on their way", lastState: { agent.log }) { server.count(.upload) > 2 }
        for name in ["1", "2", "3"] { try agent.writeSource(name, "", ["\(name).jpg": .jpeg(2 * Self.block)]) }
        for name in ["1", "2", "3"] { try await agent.reached(source: name, .queued) { $0.revision == 1 } }

        try await command(agent, "first", "3")

        server.letGo()
        for name in ["1", "2", "3"] { try await agent.reached(source: name, .done) }
        let sent = server.records.filter { $0.endpoint == .upload }.compactMap(\.files.first?.name)
        #expect(sent.first { $0 != "0.jpg" } == "3.jpg", "\(sent)")
    }

    @Test("removing the directory deletes on the server only contents that no other path needs")
    func removed() async throws {
        let (server, agent) = try held()
        try await agent.start()
        let (own, shared): ([UInt8], [UInt8]) = (.jpeg(40 * Self.block), .jpeg(20 * Self.block))
        try agent.writeSource("leaves", "", ["own.jpg": own, "shared.jpg": shared])
        try agent.writeSource("stays", "", ["too.jpg": shared])
        try await Poll.until("fragments on their way", lastState: { agent.log }) {
            fragments(server, of: Digest.md5(own)) > 4 && fragments(server, of: Digest.md5(shared)) > 4
        }

        try await agent.remove(directory: agent.path("leaves"))

        try await Poll.until("the delete", lastState: { agent.log }) { server.count(.delete) > 0 }
        server.letGo()
        try await agent.reached(source: "stays", .done)
        #expect(server.deletions.joined().allSatisfy { $0 == "own.jpg" }, "\(server.deletions)")
        expectClean(server, finished: [Digest.md5(shared)])
        #expect(server.store.repeated == 0)
        #expect(server.store.posts.posts.values.map(\.payload.title) == ["stays"])
    }

    @Test("moving the directory, during the upload or without an agent, keeps the id and makes one post")
    func moved() async throws {
        let (server, agent) = try held()
        try await agent.start()
        let (large, small): ([UInt8], [UInt8]) = (.jpeg(60 * Self.block), .jpeg(2000))
        try agent.writeSource("sea", "title = \"Sea\"\n", ["a.jpg": large, "in/b.jpg": small])
        try await Poll.until("fragments on their way", lastState: { agent.log }) { server.count(.upload) > 3 }
        let id = try await agent.reached(source: "sea", .uploading).id

        try Files.rename(agent.path("sea"), to: agent.path("ocean"))
        let renamed = try await agent.reached(source: "ocean", .uploading) { $0.path == "ocean" }
        #expect(renamed.id == id)
        try await agent.kill()
        try Files.makeDirectory(agent.path("2026"))
        try Files.rename(agent.path("ocean"), to: agent.path("2026/lake"))
        server.letGo()
        try await agent.start()

        let done = try await agent.reached(source: "2026/lake", .done) { $0.path == "2026/lake" }
        #expect(done.id == id)
        #expect(done.files.map(\.path) == ["2026/lake/a.jpg", "2026/lake/in/b.jpg"])
        expectClean(server, finished: [Digest.md5(large), Digest.md5(small)])
        #expect(server.store.repeated <= 2)
        #expect(server.deletions == [])
        #expect(server.store.posts.posts.keys.map(\.sourceID) == [id])
        #expect(!agent.exists("sea") && !agent.exists("ocean"))
    }

    @Test("files of a post leave the outbox after its commit, never before", arguments: ["move", "delete"])
    func afterUpload(what: String) async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .commit ? .status(503) : nil })
        let agent = try Agent(remote: server.url, ["intake.after_upload": .string(what), "intake.rescan": "1s"])
        try await agent.start()
        try agent.writeSource("sea", "", ["a.jpg": .jpeg(2000), "in/b.jpg": .jpeg(2001)])
        try await Poll.until("commits", lastState: { agent.log }) { server.count(.commit) > 1 }
        let alone = try agent.drop("alone.jpg", .jpeg, size: 2002)
        try await Poll.until("a file by itself to leave", lastState: { agent.log }) { !agent.exists("alone.jpg") }
        let held = try await agent.reached(source: "sea", .verifying, .waiting) {
            $0.files.map(\.state) == [.done, .done]
        }
        #expect(agent.exists("sea/a.jpg") && agent.exists("sea/in/b.jpg"))
        server.setFaults { _, _ in nil }

        try await Poll.until("its files to leave", lastState: { agent.log }) {
            !agent.exists("sea/a.jpg") && !agent.exists("sea/in/b.jpg")
        }
        #expect(server.store.posts.post(titled: "sea")?.files.count == 2)
        #expect(server.finished.contains(alone))
        if what == "move" {
            let kept = try await agent.reached(source: "Sent/sea", .done) { $0.files.count == 2 }
            #expect(kept.id == held.id)
            // The agent decides the new place of the files before it moves them.
            try await Poll.until("its files to be there", lastState: { agent.log }) {
                ["a.jpg", "in/b.jpg", "source.toml"].allSatisfy { agent.exists("Sent/sea/\($0)") }
            }
        } else {
            try await agent.reached(source: "sea", .done)
        }
        #expect(server.store.violations == [])
    }
}

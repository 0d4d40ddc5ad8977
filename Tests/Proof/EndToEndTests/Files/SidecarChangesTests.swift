import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("Sidecars changed by others", .agents)
struct SidecarChangesTests {
    /// Edits a file like a user with an editor.
    private func edit(_ path: String, _ changes: [String: String]) throws {
        var text = try String(contentsOfFile: path, encoding: .utf8)
        for (old, new) in changes {
            try #require(text.contains(old))
            text = text.replacing(old, with: new)
        }
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    private let zeros = String(repeating: "0", count: 32)

    @Test("an edit while the file waits has no effect, and the next change overwrites it")
    func editedUnderWay() async throws {
        // With frequent attempts, the sidecar would briefly say `verifying`, and the agent might write it during the
        // edit.
        let server = try FaultServer(faults: { endpoint, _ in
            endpoint == .isFinish ? .status(503, retryAfter: "600") : nil
        })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 600_000)
        try await agent.reached("a.jpg", .waiting)

        try edit(agent.path("a.jpg.outbox.json"), [#""waiting""#: #""done""#, key: zeros])

        #expect(try await agent.isStillUnderWay("a.jpg"))
        server.setFaults { _, _ in nil }
        #expect(try await agent.command("retry", "a.jpg").code == 0)
        #expect(try await agent.reached("a.jpg", .done, where: { $0.key == key }).progress == 1)
        expectClean(server, finished: [key])
        #expect(server.store.repeated == 0)
    }

    @Test("an edit after the file is done has no effect, even after a restart")
    func editedAfterwards() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.rescan": "1s"])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 600_000)
        try await agent.reached("a.jpg", .done)

        try edit(agent.path("a.jpg.outbox.json"), [#""done""#: #""queued""#, key: zeros])
        for _ in 0..<2 {
            #expect(try await agent.command("wait", "a.jpg").code == 0)
            let entry = try await agent.entry("a.jpg")
            #expect(entry?["state"] as? String == "done")
            #expect(entry?["key"] as? String == key)
            try await agent.stop()
            try await agent.start()
        }

        // The next change is a new name.
        try Files.rename(agent.path("a.jpg"), to: agent.path("b.jpg"))
        #expect(try await agent.reached("b.jpg", .done).key == key)
        expectClean(server, finished: [key])
        #expect(server.count(.preLoad) == 1)
    }

    @Test("an edited path affects neither of the two files")
    func editedPath() async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .isFinish ? .status(503) : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let other = try agent.drop("other.jpg", .jpeg, size: 2000)
        let key = try agent.drop("a.jpg", .jpeg, size: 600_000)
        try await agent.reached("other.jpg", .waiting)
        try await agent.reached("a.jpg", .waiting)

        try edit(agent.path("a.jpg.outbox.json"), [#""a.jpg""#: #""other.jpg""#])
        try await agent.stop()
        server.setFaults { _, _ in nil }
        try await agent.start()

        #expect(try await agent.command("wait", "a.jpg", "other.jpg").code == 0)
        #expect(try await agent.entry("a.jpg")?["key"] as? String == key)
        #expect(try await agent.reached("other.jpg", .done).key == other)
        // A sidecar with another path looks like a foreign file, so the agent writes the sidecar under the next name.
        let told = try await Poll.value("a sidecar for a.jpg", lastState: { agent.log }) {
            try Files.tree(agent.outbox).filter { $0.hasPrefix("a.jpg") && $0.hasSuffix(".outbox.json") }
                .compactMap { try agent.sidecar(named: $0) }.first { $0.path == "a.jpg" && $0.state == .done }
        }
        #expect(told.key == key)
        expectClean(server, finished: [other, key])
    }

    @Test("a sidecar deleted while the file waits is written again with the next change")
    func deleted() async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .isFinish ? .status(503) : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 600_000)
        try await agent.reached("a.jpg", .waiting)

        agent.remove("a.jpg.outbox.json")
        server.setFaults { _, _ in nil }

        #expect(try await agent.reached("a.jpg", .done).key == key)
        expectClean(server, finished: [key])
    }

    @Test("a foreign file with the sidecar's name stays untouched, even if the drop is overwritten or removed")
    func foreign() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.rescan": "1s"])
        let foreign = Array(#"{"path": "a.jpg", "state": "mine"}"#.utf8)
        try agent.drop("a.jpg.outbox.json", foreign)
        func expectUntouched(_ comment: Comment) {
            #expect(Files.read(Array(agent.path("a.jpg.outbox.json").utf8)) == foreign, comment)
        }
        try await agent.start()

        let key = try agent.drop("a.jpg", .jpeg, size: 2000, seed: 1)
        let name = "a.jpg (2).outbox.json"
        try await Poll.until("a sidecar under another name", lastState: { "\(Files.tree(agent.outbox))" }) {
            try agent.sidecar(named: name)?.state == .done
        }
        expectUntouched("done")

        try await agent.stop()
        try await agent.start()
        let second = try agent.drop("a.jpg", .jpeg, size: 2000, seed: 2)
        try await Poll.until("the new content to be told of", lastState: { agent.log }) {
            let sidecar = try agent.sidecar(named: name)
            return sidecar?.state == .done && sidecar?.key == second
        }
        expectUntouched("restarted and overwritten")

        agent.remove("a.jpg")
        try await Poll.until("the sidecar to go", lastState: { agent.log }) { try agent.sidecar(named: name) == nil }
        expectUntouched("removed")
        expectClean(server, finished: [key, second])
        #expect(Files.tree(agent.outbox) == ["a.jpg.outbox.json"])
    }
}

@Suite("Renames during uploads", .agents)
struct RenameTests {
    /// Starts the upload of a large file in `trip`, which the server holds after three fragments, with a small file
    /// queued behind it.
    private func start(
        _ settings: Settings = [:]
    ) async throws -> (server: FaultServer, agent: Agent, keys: [String]) {
        let server = try FaultServer(uploadDelay: .milliseconds(20))
        server.hold(after: 3)
        let agent = try Agent(
            remote: server.url,
            settings.merging(["upload.fragments_in_flight": 1, "upload.files_in_flight": 1]) { $1 })
        try Files.makeDirectory(agent.path("trip"))
        try await agent.start()
        var keys = [try agent.drop("trip/large.jpg", .jpeg, size: 40 * 524_288)]
        try await Poll.until("fragments on their way", lastState: { agent.log }) { server.count(.upload) > 3 }
        keys.append(try agent.drop("trip/small.jpg", .jpeg, size: 2000))
        try await agent.reached("trip/small.jpg", .queued)
        return (server, agent, keys)
    }

    private func expectKept(
        _ server: FaultServer, _ agent: Agent, _ keys: [String], large: String, small: String
    ) async throws {
        // Only then does the agent know the new name.
        try await agent.reached(large, .uploading) { $0.key == keys[0] && $0.path == large }
        server.letGo()
        for (name, key) in zip([large, small], keys) {
            let sidecar = try await agent.reached(name, .done)
            #expect(sidecar.path == name)
            #expect(sidecar.key == key)
        }
        expectClean(server, finished: keys)
        #expect(server.store.repeated <= 1, "no more than what was in flight is sent again")
        #expect(server.store.deleted.isEmpty)
    }

    @Test("moving a directory into a new directory keeps every upload in it")
    func intoNewDirectory() async throws {
        let (server, agent, keys) = try await start()

        try Files.makeDirectory(agent.path("2026/11"))
        try Files.rename(agent.path("trip"), to: agent.path("2026/11/trip"))

        try await expectKept(server, agent, keys, large: "2026/11/trip/large.jpg", small: "2026/11/trip/small.jpg")
        #expect(!agent.exists("trip"))
    }

    @Test("moving a file into a new directory keeps its upload")
    func fileIntoNewDirectory() async throws {
        let (server, agent, keys) = try await start()

        try Files.makeDirectory(agent.path("new/one"))
        try Files.rename(agent.path("trip/large.jpg"), to: agent.path("new/one/large.jpg"))

        try await expectKept(server, agent, keys, large: "new/one/large.jpg", small: "trip/small.jpg")
        try await Poll.until("the old sidecar to go") { try agent.sidecar("trip/large.jpg") == nil }
    }

    @Test("a directory that leaves the outbox and returns within 2 s under another name keeps every upload in it")
    func outAndBack() async throws {
        let (server, agent, keys) = try await start()
        let aside = agent.directory.path("aside")

        try Files.rename(agent.path("trip"), to: aside)
        try Files.rename(aside, to: agent.path("journey"))

        try await expectKept(server, agent, keys, large: "journey/large.jpg", small: "journey/small.jpg")
    }

    @Test(
        "a file that leaves the outbox and returns within 2 s keeps its upload, even if this happens repeatedly and full scans follow"
    )
    func fileOutAndBack() async throws {
        let (server, agent, keys) = try await start(["intake.rescan": "1s"])
        let aside = agent.directory.path("aside.jpg")

        for round in 1...3 {
            try Files.rename(agent.path("trip/large.jpg"), to: aside)
            try Files.rename(aside, to: agent.path("trip/large.jpg"))
            let held = 3 + 5 * round
            server.hold(after: held)
            try await Poll.until("more fragments", lastState: { agent.log }) { server.count(.upload) > held }
        }
        try await agent.hasScannedAnew()

        try await expectKept(server, agent, keys, large: "trip/large.jpg", small: "trip/small.jpg")
    }

    @Test("a file that leaves the outbox is cancelled after 2 s, and is uploaded anew if it returns later")
    func backTooLate() async throws {
        let (server, agent, keys) = try await start()
        let aside = agent.directory.path("aside.jpg")

        try Files.rename(agent.path("trip/large.jpg"), to: aside)
        try await agent.reached("trip/large.jpg", .cancelled)
        server.letGo()
        try Files.rename(aside, to: agent.path("trip/large.jpg"))

        try await Poll.until("it to be done", lastState: { agent.log }) {
            try agent.sidecar("trip/large.jpg")?.state == .done
        }
        try await agent.reached("trip/small.jpg", .done)
        expectClean(server, finished: keys)
        try await Poll.until("the server to be told", lastState: { agent.log }) { server.store.deleted.count == 1 }
    }

    @Test("a file renamed over another one supersedes it, also on the server")
    func ontoAnother() async throws {
        let (server, agent, keys) = try await start()

        try Files.rename(agent.path("trip/small.jpg"), to: agent.path("trip/large.jpg"))

        try await Poll.until("it to be done", lastState: { agent.log }) {
            let sidecar = try agent.sidecar("trip/large.jpg")
            return sidecar?.state == .done && sidecar?.key == keys[1]
        }
        try await Poll.until("the old sidecar to go") { try agent.sidecar("trip/small.jpg") == nil }
        try await Poll.until("the server to be told", lastState: { agent.log }) { server.store.deleted.count == 1 }
        expectClean(server, finished: [keys[1]])
    }

    @Test("two files that exchange their names keep their uploads")
    func exchanged() async throws {
        let (server, agent, keys) = try await start()

        try Files.rename(agent.path("trip/large.jpg"), to: agent.path("trip/third.jpg"))
        try Files.rename(agent.path("trip/small.jpg"), to: agent.path("trip/large.jpg"))
        try Files.rename(agent.path("trip/third.jpg"), to: agent.path("trip/small.jpg"))

        try await expectKept(server, agent, keys, large: "trip/small.jpg", small: "trip/large.jpg")
        try await Poll.until("the third sidecar to go") { try agent.sidecar("trip/third.jpg") == nil }
    }
}

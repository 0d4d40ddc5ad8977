import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Commands that control uploads", .agents)
struct ControlTests {
    private static let nowhere = "http://127.0.0.1:1"
    private static let block = 524_288

    /// Returns an agent that sends one fragment at a time to a slow server. The server finishes no upload until the
    /// test allows it, so that the test has time for commands.
    private func slow(_ settings: Settings = [:]) throws -> (FaultServer, Agent) {
        let server = try FaultServer(uploadDelay: .milliseconds(30), faults: FaultServer.keepsAssembling)
        let usual: Settings = ["upload.fragments_in_flight": 1, "upload.files_in_flight": 1]
        return (server, try Agent(remote: server.url, usual.merging(settings) { $1 }))
    }

    private func underWay(_ server: FaultServer, _ agent: Agent, fragments: Int = 3) async throws {
        try await Poll.until("fragments on their way", lastState: { agent.log }) {
            server.count(.upload) >= fragments
        }
    }

    /// Waits until the server receives no more fragments. Fragments in flight may still arrive.
    private func quiet(_ server: FaultServer, _ agent: Agent) async throws {
        var last = -1
        try await Poll.until("the server to get nothing more", every: .milliseconds(300), lastState: { agent.log }) {
            defer { last = server.count(.upload) }
            return server.count(.upload) == last
        }
    }

    private func expect(_ output: Program.Output, _ code: Int32) {
        #expect(output.code == code, "\(output)")
    }

    // MARK: pause and resume

    @Test("a paused file stops, stays paused across a kill, and resumes where it was")
    func pauseFile() async throws {
        let (server, agent) = try slow()
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 40 * Self.block)
        try await underWay(server, agent)

        expect(try await agent.command("pause", "a.jpg"), 0)
        try await agent.reached("a.jpg", .paused)
        try await quiet(server, agent)
        try await agent.kill()
        let sent = server.store.arrivals[key]
        server.letFinish()
        try await agent.start()
        // A later file that is done shows that the agent had enough time.
        let witness = try agent.drop("witness.jpg", .jpeg, size: 2000)
        try await agent.reached("witness.jpg", .done)
        try await agent.reached("a.jpg", .paused)
        #expect(server.store.arrivals[key] == sent)

        expect(try await agent.command("resume", "a.jpg"), 0)
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key, witness])
        #expect(server.store.repeated <= 1)
    }

    @Test("pause --all pauses new files too, across a restart, until resume --all")
    func pauseAll() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        expect(try await agent.command("pause", "--all"), 0)
        try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .paused)
        try await agent.stop()
        try agent.drop("b.jpg", .jpeg, size: 3000)
        try await agent.start()
        for name in ["a.jpg", "b.jpg"] { try await agent.reached(name, .paused) }
        let health = try #require(ControlSocket.get("/v1/health", socket: agent.socket))
        #expect(String(decoding: health.body, as: UTF8.self).contains("\"paused\":true"))
        #expect(server.finished == [])

        expect(try await agent.command("resume", "--all"), 0)
        for name in ["a.jpg", "b.jpg"] { try await agent.reached(name, .done) }
    }

    @Test("pausing a key pauses every path that waits for it")
    func pauseKey() async throws {
        let (server, agent) = try slow()
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 40 * Self.block, seed: 7)
        try agent.drop("b.jpg", .jpeg, size: 40 * Self.block, seed: 7)
        try await underWay(server, agent)
        try await agent.reached("b.jpg", .queued, .uploading, .verifying)

        expect(try await agent.command("pause", key), 0)

        for name in ["a.jpg", "b.jpg"] { try await agent.reached(name, .paused) }
        server.letFinish()
        expect(try await agent.command("resume", key), 0)
        for name in ["a.jpg", "b.jpg"] { try await agent.reached(name, .done) }
        expectClean(server, finished: [key])
    }

    @Test("pausing a directory pauses all files below it")
    func pauseDirectory() async throws {
        let agent = try Agent(remote: Self.nowhere)
        try await agent.start()
        for name in ["trip/a.jpg", "trip/deep/b.jpg", "c.jpg"] { try agent.drop(name, .jpeg, size: 2000) }
        for name in ["trip/a.jpg", "trip/deep/b.jpg", "c.jpg"] { try await agent.reached(name, .waiting, .queued) }

        expect(try await agent.command("pause", "trip"), 0)

        for name in ["trip/a.jpg", "trip/deep/b.jpg"] { try await agent.reached(name, .paused) }
        let other = try await agent.entry("c.jpg")
        let state = try #require(other?["state"] as? String)
        #expect(["waiting", "queued"].contains(state))
    }

    // MARK: cancel and retry

    @Test("a cancelled file is deleted on the server, stays cancelled across a kill, and uploads after retry")
    func cancelFile() async throws {
        let (server, agent) = try slow()
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 40 * Self.block)
        try await underWay(server, agent)

        expect(try await agent.command("cancel", "a.jpg"), 0)
        try await agent.reached("a.jpg", .cancelled)
        try await Poll.until("the delete", lastState: { agent.log }) { server.count(.delete) > 0 }
        try await agent.kill()
        try await agent.start()
        expect(try await agent.command("wait", "a.jpg"), 1)
        try await agent.reached("a.jpg", .cancelled)
        #expect(server.finished == [])
        #expect(agent.exists("a.jpg"))

        server.letFinish()
        expect(try await agent.command("retry", "a.jpg"), 0)
        try await agent.returned("a.jpg", to: .done)
        #expect(server.finished == [key])
    }

    @Test("cancel --all cancels all unfinished files, and no later ones")
    func cancelAll() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("done.jpg", .jpeg, size: 2000)
        try await agent.reached("done.jpg", .done)
        expect(try await agent.command("pause", "--all"), 0)
        try agent.drop("a.jpg", .jpeg, size: 3000)
        try await agent.reached("a.jpg", .paused)

        expect(try await agent.command("cancel", "--all"), 0)

        try await agent.reached("a.jpg", .cancelled)
        #expect(try agent.sidecar("done.jpg")?.state == .done)
        expect(try await agent.command("resume", "--all"), 0)
        try agent.drop("later.jpg", .jpeg, size: 4000)
        try await agent.reached("later.jpg", .done)
        #expect(try agent.sidecar("a.jpg")?.state == .cancelled)
    }

    @Test("retry starts a waiting file at once, long before its next attempt")
    func retryWaiting() async throws {
        let server = try FaultServer(faults: { endpoint, _ in
            endpoint == .preLoad ? .status(503, retryAfter: "3000") : nil
        })
        let agent = try Agent(remote: server.url, ["upload.retry_interval": "1h"])
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .waiting)
        server.setFaults { _, _ in nil }

        expect(try await agent.command("retry", "a.jpg"), 0)

        try await agent.reached("a.jpg", .done)
    }

    @Test("retry --all uploads failed files")
    func retryFailed() async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .upload ? .status(422) : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let names = ["a.jpg", "b.jpg"]
        for (index, name) in names.enumerated() { try agent.drop(name, .jpeg, size: 2000 + index) }
        for name in names { try await agent.reached(name, .failed) }
        server.setFaults { _, _ in nil }

        expect(try await agent.command("retry", "--all"), 0)

        for name in names { try await agent.returned(name, to: .done) }
    }

    // MARK: first

    @Test("first moves a file to the head of the queue")
    func first() async throws {
        let (server, agent) = try slow()
        try await agent.start()
        try agent.drop("0.jpg", .jpeg, size: 30 * Self.block)
        try await underWay(server, agent)
        // Otherwise the first file could finish before the others exist.
        expect(try await agent.command("pause", "--all"), 0)
        for index in 1...5 { try agent.drop("\(index).jpg", .jpeg, size: 3 * Self.block + index) }
        for index in 1...5 { try await agent.reached("\(index).jpg", .paused) }

        expect(try await agent.command("first", "5.jpg"), 0)
        server.letFinish()
        expect(try await agent.command("resume", "--all"), 0)

        for index in 0...5 { try await agent.reached("\(index).jpg", .done) }
        let sent = server.records.filter { $0.endpoint == .upload }.flatMap(\.files).map(\.name)
        let others = Array(sent.filter { $0 != "0.jpg" }.prefix(4))
        #expect(others == Array(repeating: "5.jpg", count: 4), "\(sent)")
    }

    // MARK: Output and exit status

    @Test("a command that is impossible for a file exits with 1 and names it, one without effect exits with 0")
    func done() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)

        for verb in ["pause", "cancel"] {
            let output = try await agent.command(verb, "a.jpg")
            expect(output, 1)
            #expect(output.standardError.contains("cannot \(verb) a.jpg: "), "\(output)")
        }
        for verb in ["resume", "retry", "first"] { expect(try await agent.command(verb, "a.jpg"), 0) }
        #expect(try agent.sidecar("a.jpg")?.state == .done)
    }

    @Test("--json lists changed, unchanged and failed files")
    func json() async throws {
        let agent = try Agent(remote: Self.nowhere)
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .waiting, .queued)

        var lists: [[String: Any]] = []
        func count(_ list: String, in call: Int) -> Int? { (lists[call][list] as? [Any])?.count }
        for _ in 1...2 {
            let output = try await agent.command("pause", "a.jpg", "--json")
            expect(output, 0)
            let object = try JSONSerialization.jsonObject(with: Data(output.standardOutput.utf8))
            lists.append(try #require(object as? [String: Any]))
        }

        #expect(count("changed", in: 0) == 1)
        #expect(count("changed", in: 1) == 0)
        #expect(count("unchanged", in: 1) == 1)
        #expect(count("failed", in: 1) == 0)
        #expect(lists[1]["counts"] as? [String: Int] == ["changed": 0, "unchanged": 1, "failed": 0])
    }

    @Test("an unknown name exits with 66, and other files stay unchanged; without an agent, a command exits with 69")
    func unknown() async throws {
        let agent = try Agent(remote: Self.nowhere)
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .waiting, .queued)

        let verbs = ["pause", "resume", "cancel", "retry", "first"]
        for verb in verbs {
            expect(try await agent.command(verb, "a.jpg", "nothing.jpg"), 66)
            expect(try await agent.command(verb, String(repeating: "0", count: 32)), 66)
        }
        let entry = try await agent.entry("a.jpg")
        let state = try #require(entry?["state"] as? String)
        #expect(["waiting", "queued"].contains(state))

        try await agent.stop()
        for verb in verbs {
            if verb != "first" { expect(try await agent.command(verb, "--all"), 69) }
            expect(try await agent.command(verb, "a.jpg"), 69)
        }
    }

    // MARK: The socket

    @Test("a second agent with the same control.socket is refused, and the first still answers")
    func sharedSocket() async throws {
        let first = try Agent(remote: Self.nowhere)
        try await first.start()
        let second = try Agent(remote: Self.nowhere, ["control.socket": .string(first.socket)])
        try second.launch()
        let ending = try await second.program?.wait()
        #expect(ending == .exited(73), "\(second.log)")
        #expect(second.log.contains("another agent listens there"), "\(second.log)")
        #expect(first.isAnswering)
    }
}

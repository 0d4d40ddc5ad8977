import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("status and wait", .agents)
struct StatusAndWaitTests {
    private static let nowhere = "http://127.0.0.1:1"

    private func lists(_ output: Program.Output) throws -> (done: [Any], failed: [Any]) {
        let object = try JSONSerialization.jsonObject(with: Data(output.standardOutput.utf8)) as? [String: Any]
        return (try #require(object?["done"] as? [Any]), try #require(object?["failed"] as? [Any]))
    }

    @Test("wait returns 0 once all files are done, and lists them")
    func waitDone() async throws {
        let server = try FaultServer(uploadDelay: .milliseconds(20))
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 3_000_000)
        try agent.drop("b.jpg", .jpeg, size: 2000)

        let output = try await agent.command("wait", "a.jpg", "b.jpg", "--json")

        #expect(output.code == 0, "\(output)")
        let (done, failed) = try lists(output)
        #expect(done.count == 2)
        #expect(failed.isEmpty)
        #expect(output.standardOutput.contains("a.jpg") && output.standardOutput.contains("b.jpg"))
        // The command asks the agent, which writes sidecars independently of its answers.
        try await agent.reached("a.jpg", .done)

        try agent.drop("sub/a.jpg", .jpeg, size: 2001)
        #expect(try await agent.command("wait", agent.path("sub/a.jpg")).code == 0, "an absolute path")
    }

    @Test("wait without names returns 0 if all files are done")
    func waitAll() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        for index in 0..<10 { try agent.drop("\(index).jpg", .jpeg, size: 2000 + index) }
        try await agent.start()
        try await agent.reached("9.jpg", .done)

        #expect(try await agent.command("wait").code == 0)
        for index in 0..<10 { try await agent.reached("\(index).jpg", .done) }
    }

    @Test("wait returns 1 if a file is rejected")
    func waitFailed() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("good.jpg", .jpeg, size: 2000)
        try agent.drop("words.jpg", Array("words".utf8))

        let output = try await agent.command("wait", "good.jpg", "words.jpg", "--json")

        #expect(output.code == 1, "\(output)")
        let (done, failed) = try lists(output)
        #expect(done.count == 1)
        #expect(failed.count == 1)
    }

    @Test("wait without names ignores earlier rejections, unless --all-time is given")
    func waitOldRejections() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("words.jpg", Array("words".utf8))
        try await agent.reached("words.jpg", .rejected)
        try agent.drop("good.jpg", .jpeg, size: 2000)
        try await agent.reached("good.jpg", .done)

        let usual = try await agent.command("wait")
        #expect(usual.code == 0, "\(usual)")
        #expect(usual.standardOutput.contains("1 rejected earlier"), "\(usual)")
        let json = try await agent.command("wait", "--json")
        #expect(try lists(json).failed.isEmpty)
        #expect(try await agent.command("wait", "--all-time").code == 1)
        #expect(try await agent.command("wait", "words.jpg").code == 1)
    }

    @Test("wait returns 75 after its timeout, and 66 for an unknown path")
    func waitTimeout() async throws {
        let agent = try Agent(remote: Self.nowhere)
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        #expect(try await agent.command("wait", "a.jpg", "--timeout", "1s").code == 75)
        #expect(try await agent.command("wait", "nothing.jpg", "--timeout", "60s").code == 66)
    }

    @Test("wait returns 0 for a moved file, by its old and by its new path")
    func waitMoved() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.after_upload": "move"])
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("Sent/a.jpg", .done)

        for name in ["a.jpg", "Sent/a.jpg"] {
            let output = try await agent.command("wait", name, "--timeout", "60s")
            #expect(output.code == 0, "\(output)")
        }
    }

    @Test("status shows path, state and key, as lines and as JSON; without an agent it reads the ledger, and says so")
    func status() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)

        let plain = try await agent.command("status")
        let json = try await agent.command("status", "--json")
        let one = try await agent.command("status", "a.jpg")
        let byKey = try await agent.command("status", key)

        for output in [plain, one, byKey] {
            #expect(output.code == 0, "\(output)")
            #expect(output.standardOutput.contains("a.jpg") && output.standardOutput.contains("done"))
        }
        #expect(json.code == 0)
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(json.standardOutput.utf8)) }
        #expect(json.standardOutput.contains(key))

        let files = try #require(ControlSocket.get("/v1/files", socket: agent.socket))
        #expect(files.status == 200)
        #expect(String(decoding: files.body, as: UTF8.self).contains(key))
        let failed = try #require(ControlSocket.get("/v1/files?state=failed", socket: agent.socket))
        #expect(!String(decoding: failed.body, as: UTF8.self).contains(key))
        #expect(ControlSocket.get("/v1/nonsense", socket: agent.socket)?.status == 404)

        try await agent.stop()
        let offline = try await agent.command("status")
        #expect(offline.code == 0, "\(offline)")
        #expect(offline.standardOutput.contains("a.jpg"))
        let said = offline.standardOutput + offline.standardError
        #expect(said.contains(/(?i)not running|is down|no agent|agent down|stopped/), "\(said)")
        #expect(try await agent.command("status", "--json").standardOutput.contains(key))
    }

    @Test("status begins with failed and rejected files and their reasons, and the log has a line for each file")
    func reasons() async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .upload ? .bodyCode(422) : nil })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("z.jpg", .jpeg, size: 2000)
        try agent.drop("words.jpg", Array("words".utf8))
        let failed = try await agent.reached("z.jpg", .failed)
        try await agent.reached("words.jpg", .rejected)
        server.setFaults { _, _ in nil }
        try agent.drop("a.jpg", .jpeg, size: 3000)
        try await agent.reached("a.jpg", .done)

        let message = try #require(failed.error?.message)
        let lines = try await agent.command("status").standardOutput.split(separator: "\n")
        let names = ["z.jpg", "words.jpg", "a.jpg"].compactMap { name in lines.firstIndex { $0.contains(name) } }
        #expect(names == [0, 2, 4], "\(lines)")
        #expect(lines[1].trimmingPrefix { $0 == " " } == message)
        #expect(lines[3].contains("neither a picture nor a video"))
        let one = try await agent.command("status", "z.jpg").standardOutput
        #expect(one.contains("\n") && one.contains(message))

        #expect(agent.said("warning", "a file failed", "path=z.jpg").count == 1)
        #expect(agent.said("notice", "a file is rejected", "path=words.jpg").count == 1)
        #expect(agent.said("info", "a file is done", "path=a.jpg").count == 1)
    }

    @Test("status --watch begins with the files that failed or were rejected before")
    func watchedFailures() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("words.jpg", Array("words".utf8))
        try await agent.reached("words.jpg", .rejected)
        let watch = try Program(
            "outbox", ["status", "--watch", "--config", agent.config], environment: agent.environment,
            directory: agent.outbox, outputPrefix: agent.directory.path("watch"))
        try await Poll.until("a line", lastState: { watch.errorTail() }) { watch.standardOutput.contains("\n") }
        watch.kill(SIGINT)
        try await watch.wait()
        #expect(watch.standardOutput.hasPrefix("rejected words.jpg: neither a picture nor a video"))
    }

    @Test("status in a pipe has a line for each file, and --limit shortens every list")
    func limits() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        let count = 1002
        for index in 0..<count { try agent.drop("trip/\(index).jpg", Array("words".utf8)) }
        try await agent.start()
        try await Poll.until("all files to be rejected", every: .milliseconds(200), lastState: { agent.log }) {
            try await agent.command("status", "--limit", "0").standardOutput.hasPrefix(
                "(\(count) more finished; --all shows them)\n\(count) rejected")
        }

        let whole = try await agent.command("status").standardOutput
        #expect(whole.split(separator: "\n").count { $0.contains(".jpg") } == count)
        func expectTwo(_ output: Program.Output) {
            let lines = output.standardOutput.split(separator: "\n")
            #expect(lines.count { $0.contains(".jpg") } == 2, "\(output)")
            #expect(lines.contains("(\(count - 2) more finished; --all shows them)"), "\(output)")
            #expect(lines.last == "\(count) rejected", "\(output)")
        }
        expectTwo(try await agent.command("status", "--limit", "2"))
        expectTwo(try await agent.command("status", "trip", "--limit", "2"))
        try await agent.stop()
        expectTwo(try await agent.command("status", "--limit", "2"))
    }

    @Test("status --watch tells no file as finished that others push out of its list")
    func pushedOut() async throws {
        let agent = try Agent(remote: Self.nowhere)
        try await agent.start()
        #expect(try await agent.command("pause", "--all").code == 0)
        func dropped(_ names: [String], sum: Int) async throws {
            for name in names { try agent.drop(name, .jpeg, size: 300) }
            try await Poll.until("\(sum) paused files", every: .milliseconds(200), lastState: { agent.log }) {
                try await agent.command("status", "--limit", "0").standardOutput.contains("\n\(sum) paused")
            }
        }
        try await dropped((0..<1000).map { "m\($0).jpg" }, sum: 1000)
        let watch = try Program(
            "outbox", ["status", "--watch", "--config", agent.config], environment: agent.environment,
            directory: agent.outbox, outputPrefix: agent.directory.path("watch"))
        try await Poll.until("a line", lastState: { watch.errorTail() }) { watch.standardOutput.contains("m1.jpg") }
        try await dropped((0..<60).map { "a\($0).jpg" }, sum: 1060)
        try agent.drop("0.jpg", .jpeg, size: 300)
        try await Poll.until("the last file", lastState: { watch.errorTail() }) {
            watch.standardOutput.contains(" 0.jpg")
        }
        watch.kill(SIGINT)
        try await watch.wait()
        #expect(!watch.standardOutput.contains("more finished"))
    }

    @Test("status of a directory lists the files that were moved out of it")
    func movedDirectory() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.after_upload": "move"])
        try await agent.start()
        try agent.drop("trip/a.jpg", .jpeg, size: 2000)
        try await Poll.until("the file to be moved", lastState: { agent.log }) { agent.exists("Sent/trip/a.jpg") }

        try await Poll.until("status of the directory", lastState: { agent.log }) {
            let output = try await agent.command("status", agent.path("trip"))
            return output.code == 0 && output.standardOutput.contains("Sent/trip/a.jpg")
        }
        let watch = try Program(
            "outbox", ["status", "--watch", "--json", agent.path("trip"), "--config", agent.config],
            environment: agent.environment, directory: agent.outbox, outputPrefix: agent.directory.path("watch"))
        try await Poll.until("the file", lastState: { watch.errorTail() }) {
            watch.standardOutput.contains("Sent/trip/a.jpg")
        }
        watch.kill(SIGINT)
        try await watch.wait()
    }
}

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

    @Test("wait returns 0 once all are done, and lists them")
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
        // The command asks the agent, which writes its sidecars beside that.
        try await agent.reached("a.jpg", .done)
    }

    @Test("wait for everything returns 0 where all is done")
    func waitAll() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        for index in 0..<10 { try agent.drop("\(index).jpg", .jpeg, size: 2000 + index) }
        try await agent.start()
        try await agent.reached("9.jpg", .done)

        #expect(try await agent.command("wait").code == 0)
        for index in 0..<10 { try await agent.reached("\(index).jpg", .done) }
    }

    @Test("wait returns 1 where one is not done")
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

    @Test("wait for everything passes over what was rejected earlier, unless --all-time is given")
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

    @Test("wait returns 75 when its time is over")
    func waitTimeout() async throws {
        let agent = try Agent(remote: Self.nowhere)
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        #expect(try await agent.command("wait", "a.jpg", "--timeout", "1s").code == 75)
    }

    @Test("wait for a path that is not there is 66")
    func waitMissing() async throws {
        let agent = try Agent(remote: Self.nowhere)
        try await agent.start()
        #expect(try await agent.command("wait", "nothing.jpg", "--timeout", "60s").code == 66)
    }

    @Test("wait names files also by absolute path")
    func waitAbsolute() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("sub/a.jpg", .jpeg, size: 2000)
        #expect(try await agent.command("wait", agent.path("sub/a.jpg")).code == 0)
    }

    @Test("status shows path, state and key, as lines and as JSON")
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
    }

    @Test("status reads the ledger where the agent is down, and says so")
    func statusDown() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)
        try await agent.stop()

        let plain = try await agent.command("status")
        let json = try await agent.command("status", "--json")

        #expect(plain.code == 0, "\(plain)")
        #expect(plain.standardOutput.contains("a.jpg"))
        let said = plain.standardOutput + plain.standardError
        #expect(said.contains(/(?i)not running|is down|no agent|agent down|stopped/), "\(said)")
        #expect(json.standardOutput.contains(key))
    }

    @Test("the control socket answers health and files")
    func control() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)

        let socket = "\(agent.state)/control.sock"
        let files = try #require(ControlSocket.get("/v1/files", socket: socket))
        #expect(files.status == 200)
        #expect(String(decoding: files.body, as: UTF8.self).contains(key))
        let done = try #require(ControlSocket.get("/v1/files?state=failed", socket: socket))
        #expect(!String(decoding: done.body, as: UTF8.self).contains(key))
        #expect(ControlSocket.get("/v1/nonsense", socket: socket)?.status == 404)
    }
}

import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("prune", .agents)
struct PruneTests {
    @Test("while no agent runs, removes only the sidecar and entry of a removed file after its retention")
    func offline() async throws {
        let agent = try Agent(remote: "http://127.0.0.1:1")
        try await agent.start()
        try agent.drop("gone.jpg", .jpeg, size: 2000)
        try agent.drop("here.jpg", .jpeg, size: 3000)
        for name in ["gone.jpg", "here.jpg"] { try await agent.reached(name, .waiting, .queued) }
        agent.remove("gone.jpg")
        try await agent.reached("gone.jpg", .cancelled)
        try await agent.kill()
        #expect(try await agent.command("prune", "--json").standardOutput.contains("\"entries\":0"))

        // Only set now, because a running agent removes expired sidecars itself.
        try agent.configure(["sidecars.retention": "1s"])
        try await Poll.until("prune to find it") {
            let output = try await agent.command("prune", "--json")
            guard output.code == 0 else { throw Surprise("\(output)") }
            return output.standardOutput.contains("\"entries\":1")
        }

        #expect(try agent.sidecar("gone.jpg") == nil)
        #expect(try agent.sidecar("here.jpg") != nil)
        let status = try await agent.command("status", "--json").standardOutput
        #expect(!status.contains("gone.jpg"))
        #expect(status.contains("here.jpg"))
    }

    @Test("does nothing while the outbox is away")
    func away() async throws {
        let agent = try Agent(remote: "http://127.0.0.1:1", ["sidecars.retention": "0s"])
        try await agent.start()
        try agent.drop("words.jpg", Array("words".utf8))
        try await agent.reached("words.jpg", .rejected)
        try await agent.kill()
        try FileManager.default.moveItem(atPath: agent.outbox, toPath: agent.outbox + ".away")
        try FileManager.default.createDirectory(atPath: agent.outbox, withIntermediateDirectories: true)

        #expect(try await agent.command("prune", "--json").standardOutput.contains("\"entries\":0"))
    }

    @Test("exits with 75 if a running agent does not answer")
    func locked() async throws {
        let agent = try Agent(remote: "http://127.0.0.1:1")
        try await agent.start()
        try FileManager.default.removeItem(atPath: agent.socket)
        #expect(try await agent.command("prune").code == 75)
    }
}

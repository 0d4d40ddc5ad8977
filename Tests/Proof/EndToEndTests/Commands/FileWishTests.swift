import EndToEndSupport
import Foundation
import TestSupport
import Testing

/// The unit tests of Agent try each kind of rename at each stage of a file.
@Suite("Commands and renamed files", .agents)
struct FileWishTests {
    /// Starts an agent whose uploads reach the server, and finish there only after `letFinish()`.
    private func start() async throws -> (FaultServer, Agent) {
        let server = try FaultServer(faults: FaultServer.keepsAssembling)
        let agent = try Agent(remote: server.url)
        try Files.makeDirectory(agent.path("trip"))
        try Files.makeDirectory(agent.path("other"))
        try await agent.start()
        return (server, agent)
    }

    /// Lets uploads finish, and drops another file. When the file is done, the agent had enough time.
    private func witness(_ agent: Agent, _ server: FaultServer) async throws -> String {
        server.letFinish()
        let key = try agent.drop("witness.jpg", .jpeg, size: 2000)
        try await agent.reached("witness.jpg", .done)
        return key
    }

    @Test("a cancelled file stays cancelled, and a paused one paused, if they are renamed while no agent runs")
    func renamedMeanwhile() async throws {
        let (server, agent) = try await start()
        try agent.drop("trip/cancelled.jpg", .jpeg, size: 600_000)
        let paused = try agent.drop("trip/paused.jpg", .jpeg, size: 600_001)
        for (action, state) in [("cancel", Sidecar.State.cancelled), ("pause", .paused)] {
            let name = "trip/\(state.rawValue).jpg"
            try await agent.reached(name, .verifying, .uploading)
            #expect(try await agent.command(action, name).code == 0)
            try await agent.reached(name, state)
        }
        try await agent.stop()
        try Files.rename(agent.path("trip/cancelled.jpg"), to: agent.path("other/cancelled.jpg"))
        try Files.rename(agent.path("trip"), to: agent.path("voyage"))

        try await agent.start()
        try await agent.reached("other/cancelled.jpg", .cancelled) { $0.path == "other/cancelled.jpg" }
        let key = try await witness(agent, server)
        try await agent.reached("voyage/paused.jpg", .paused) { $0.path == "voyage/paused.jpg" }
        #expect(try agent.sidecar("other/cancelled.jpg")?.error?.code == "cancelled")
        #expect(server.finished == [key])
        #expect(try await agent.command("resume", "voyage/paused.jpg").code == 0)
        try await agent.reached("voyage/paused.jpg", .done)
        expectClean(server, finished: [key, paused])
        #expect(server.registrations.joined().filter { $0 == "cancelled.jpg" } == ["cancelled.jpg"])
    }

    @Test("cancel finds a file by a name that it has just got")
    func justRenamed() async throws {
        let (server, agent) = try await start()
        try agent.drop("trip/private.jpg", .jpeg, size: 600_000)
        try await agent.reached("trip/private.jpg", .verifying, .uploading)

        try Files.makeDirectory(agent.path("new"))
        try Files.rename(agent.path("trip/private.jpg"), to: agent.path("new/inside.jpg"))
        let output = try await agent.command("cancel", "new/inside.jpg")

        #expect(output.code == 0, "\(output)")
        try await agent.reached("new/inside.jpg", .cancelled)
        let key = try await witness(agent, server)
        expectClean(server, finished: [key])
        try await Poll.until("the old sidecar to go") { try agent.sidecar("trip/private.jpg") == nil }
    }

    @Test("a draft that is hidden and shown again stays a draft, and can be submitted")
    func hiddenDraft() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.writeSource("sea", "title = \"Sea\"\ndraft = true\n", ["a.jpg": .jpeg(2000), "b.jpg": .jpeg(2001)])
        let hidden = try await agent.reached(source: "sea", .draft) { $0.files.map(\.state) == [.paused, .paused] }

        try Files.rename(agent.path("sea"), to: agent.path(".sea"))
        try await Poll.until("the removal to count", lastState: { agent.log }) {
            try await agent.entry("sea/a.jpg")?["state"] as? String == "cancelled"
        }
        try Files.rename(agent.path(".sea"), to: agent.path("sea"))

        // The directory brought its old sidecar along; the new post has another id.
        try await agent.returned(source: "sea", to: .draft) {
            $0.id != hidden.id && $0.files.map(\.state) == [.paused, .paused]
        }
        #expect(try await agent.command("submit", "sea").code == 0)
        try await agent.returned(source: "sea", to: .done)
        #expect(server.store.posts.post(titled: "Sea")?.files.count == 2)
    }

    @Test("rejected files are uploaded once the configuration accepts them")
    func takesMore() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.max_file_size": "10KB"])
        try await agent.start()
        let text = Array("words".utf8)
        try agent.drop("words.txt", text)
        let key = try agent.drop("large.jpg", .jpeg, size: 20_000)
        try await agent.reached("words.txt", .rejected) { $0.error?.code == "unsupported_type" }
        try await agent.reached("large.jpg", .rejected) { $0.error?.code == "too_large" }

        try agent.configure(["intake.media_only": false, "intake.max_file_size": "1MB"])
        agent.program?.kill(SIGHUP)
        try await agent.hasSaid("next start", "intake.media_only", "intake.max_file_size")
        // After an orderly end, the agent has nothing to catch up on.
        try await agent.stop()
        try await agent.start()

        try await Poll.until("both to be taken", lastState: { agent.log }) {
            try agent.sidecar("words.txt")?.state == .done && agent.sidecar("large.jpg")?.state == .done
        }
        expectClean(server, finished: [Digest.md5(text), key])
    }
}

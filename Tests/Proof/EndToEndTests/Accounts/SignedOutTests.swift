import EndToEndSupport
import Foundation
import TestSupport
import Testing

/// After a logout, the agent sends nothing, not even to a server that needs no token.
@Suite("After a logout", .agents)
struct SignedOutTests {
    /// A server that accepts everything, and Anna's uploads under way.
    private struct Scene {
        let server: FaultServer
        let agent: Agent
        let key: String

        /// Waits until the file is kept because nobody is signed in, lets the server answer later requests, and returns
        /// the number of requests so far.
        func quiet() async throws -> Int {
            try await agent.keptSignedOut("anna.jpg")
            server.letGo()
            return server.records.count
        }

        /// Waits longer than a second, in which a signed-in agent would have tried.
        func expectNothingSent(since count: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
            let wait = try await agent.command("wait", "--timeout", "1500ms", "anna.jpg")
            #expect(wait.code == 75, "\(wait)", sourceLocation: sourceLocation)
            #expect(server.records.count == count, sourceLocation: sourceLocation)
        }
    }

    private func scene(_ settings: Settings = [:]) async throws -> Scene {
        // The upload is under way when a command arrives.
        let server = try FaultServer()
        server.hold(after: 3)
        let agent = try Agent(
            remote: server.url,
            ["upload.fragments_in_flight": 1, "upload.retry_interval": "1s"].merging(settings) { $1 })
        try await agent.start()
        try await agent.login("anna")
        let key = try agent.drop("anna.jpg", .jpeg, size: 16 * 524_288)
        // The server withholds the reply to the fourth fragment, so the agent sends no further one.
        try await Poll.until("the fourth fragment", lastState: { agent.log }) { server.count(.upload) > 3 }
        return Scene(server: server, agent: agent, key: key)
    }

    private func expectWhole(_ scene: Scene, _ keys: [String] = [], sourceLocation: SourceLocation = #_sourceLocation) {
        expectClean(scene.server, finished: [scene.key] + keys, sourceLocation: sourceLocation)
        #expect(scene.server.store.repeated <= 2, sourceLocation: sourceLocation)
    }

    @Test("nothing is sent, across a restart and a kill, until the same user signs in and resumes the uploads")
    func online() async throws {
        let scene = try await scene()
        let agent = scene.agent
        try await agent.logout()
        let count = try await scene.quiet()
        let late = try agent.drop("late.jpg", .jpeg, size: 3000)
        try await agent.keptSignedOut("late.jpg")
        try await scene.expectNothingSent(since: count)
        #expect(agent.said("signed out").count == 1)

        #expect(try await agent.stop() == .exited(0))
        try await agent.start()
        for name in ["anna.jpg", "late.jpg"] { try await agent.keptSignedOut(name) }
        try await agent.kill()
        try await agent.start()
        for name in ["anna.jpg", "late.jpg"] { try await agent.keptSignedOut(name) }
        #expect((try agent.sidecar("anna.jpg")?.fragments?.finished ?? 0) > 0)
        try await scene.expectNothingSent(since: count)

        try await agent.login("anna")
        for name in ["anna.jpg", "late.jpg"] { try await agent.reached(name, .done) }
        expectWhole(scene, [late])
    }

    @Test("without an agent, the next start sends nothing either, even if the server needs no token")
    func offline() async throws {
        let scene = try await scene()
        let agent = scene.agent
        try await agent.kill()
        try await agent.logout()
        scene.server.letGo()
        let count = scene.server.records.count
        let found = try agent.drop("found.jpg", .jpeg, size: 3000)
        try await agent.start()
        for name in ["anna.jpg", "found.jpg"] { try await agent.keptSignedOut(name) }
        try await scene.expectNothingSent(since: count)
        #expect(try await agent.problems().contains { $0.contains("outbox login") })
        try await agent.login("anna")
        for name in ["anna.jpg", "found.jpg"] { try await agent.reached(name, .done) }
        expectWhole(scene, [found])
        #expect(try await agent.problems() == [])
    }

    @Test("a post waits too, and is committed after the login")
    func source() async throws {
        let scene = try await scene()
        let agent = scene.agent
        try await agent.logout()
        let key = try agent.drop("post/picture.jpg", .jpeg, size: 3000)
        try agent.drop("post/source.toml", Array("title = \"late\"\n".utf8))
        try await agent.post("post", is: "signed_out", code: "signed_out")
        let count = try await scene.quiet()
        #expect(try await agent.stop() == .exited(0))
        try await agent.start()
        try await agent.post("post", is: "signed_out", code: "signed_out")
        #expect(scene.server.records.count == count)
        try await agent.login("anna")
        try await agent.post("post", is: "done")
        try await agent.reached("anna.jpg", .done)
        expectWhole(scene, [key])
        #expect(scene.server.store.posts.posts.count == 1)
    }

    @Test("a token that appears in token_file resumes the uploads")
    func tokenFile() async throws {
        let scene = try await scene(["remote.token_file": "token-file"])
        try await scene.agent.logout()
        _ = try await scene.quiet()
        try Files.write(Array("for-anna\n".utf8), to: scene.agent.directory.path("token-file"))
        try await scene.agent.reached("anna.jpg", .done)
        expectWhole(scene)
    }

    @Test("new files belong to the next user who signs in, and earlier files wait for their owner")
    func next() async throws {
        let home = try Household(["upload.fragments_in_flight": 1])
        home.server.hold(after: 3)
        let agent = home.agent
        try await agent.start()
        try await agent.login("anna")
        let old = try agent.drop("anna.jpg", .jpeg, size: 16 * 524_288)
        try await home.hasSent(2, of: old, from: "anna")
        try await agent.logout()
        home.server.letGo()
        let free = try agent.drop("ben.jpg", .jpeg, size: 3000)
        try await agent.keptSignedOut("ben.jpg")
        try await agent.login("ben")
        try await agent.reached("ben.jpg", .done)
        try await agent.parked("anna.jpg", as: "anna")
        try await agent.login("anna")
        try await agent.reached("anna.jpg", .done)
        home.expectDisjoint()
        home.expectFinished(["anna": [old], "ben": [free]])
        #expect(home.server.store.repeated <= 2)
    }
}

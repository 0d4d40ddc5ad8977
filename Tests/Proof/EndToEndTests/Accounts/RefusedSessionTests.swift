import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("A session that the server refuses", .agents)
struct RefusedSessionTests {
    private static let said = "the server requires another token"

    @Test("is reported once per run, probed once per retry_interval, and costs no progress")
    func refused() async throws {
        let home = try Household(["upload.fragments_in_flight": 1])
        let (server, agent) = (home.server, home.agent)
        server.hold(after: 2)
        try await agent.start()
        try await agent.login("anna")
        let names = (0..<4).map { "anna-\($0).jpg" }
        var keys = try names.map { try agent.drop($0, .jpeg, size: 12 * 524_288) }
        for key in keys { try await home.hasSent(2, of: key, from: "anna") }

        server.require(tokens: ["new": "anna"])
        server.letGo()
        var kept: [Int] = []
        for name in names {
            let sidecar = try await agent.reached(name, .signedOut)
            #expect(sidecar.error?.code == "signed_out" && sidecar.error?.retryable == true)
            kept.append(sidecar.fragments?.finished ?? 0)
        }
        #expect(kept.allSatisfy { $0 >= 1 })
        keys.append(try agent.drop("anna-late.jpg", .jpeg, size: 3000))
        try await agent.reached("anna-late.jpg", .signedOut)
        try await expectProbes(server, agent)
        #expect(agent.said(Self.said).count == 1)

        #expect(try await agent.stop() == .exited(0))
        try await agent.start()
        for (name, finished) in zip(names, kept) {
            #expect((try await agent.reached(name, .signedOut).fragments?.finished ?? 0) >= finished)
        }
        // The sidecars may be left over from the previous run.
        try await agent.hasSaid(Self.said, atLeast: 2)
        try await expectProbes(server, agent)
        #expect(agent.said(Self.said).count == 2)

        let count = server.records.count
        let file = agent.directory.path("new-token")
        try Files.write(Array("new\n".utf8), to: file)
        #expect(try await agent.command("login", "--user", "anna", "--token-file", file).code == 0)
        for name in names + ["anna-late.jpg"] { try await agent.reached(name, .done) }
        // Each request of the old session ended before the new session began.
        #expect(Set(server.records[count...].map(\.token)).isSubset(of: ["for-anna", "new"]))
        home.expectFinished(["anna": keys])
        #expect(server.store.repeated == 0)
    }

    /// Watches a few probes and checks that they are at least an interval apart.
    private func expectProbes(_ server: FaultServer, _ agent: Agent) async throws {
        // A fragment of each file may be on its way when the server refuses the first one.
        let start = server.records.count + 4
        try await Poll.until("three probes", lastState: { agent.log }) { server.records.count >= start + 3 }
        let times = server.records[start..<start + 3].map(\.at)
        #expect(times[0].duration(to: times[2]) > .seconds(1.5), "two intervals of a second, less what jitter takes")
    }

    @Test("of one user does not affect the next user, whose files upload at once")
    func others() async throws {
        let home = try Household()
        home.server.require(tokens: ["for-ben": "ben", "new": "anna"])
        let agent = home.agent
        try await agent.start()
        try await agent.login("anna")
        try agent.drop("anna.jpg", .jpeg, size: 3000)
        try await agent.reached("anna.jpg", .signedOut) { $0.error?.code == "signed_out" }
        try await agent.login("ben")
        let own = try agent.drop("ben.jpg", .jpeg, size: 4000)
        try await agent.reached("ben.jpg", .done)
        try await agent.parked("anna.jpg", as: "anna")
        #expect(try await agent.problems() == [])
        #expect(Set(home.named(by: "ben").map(\.name)) == ["ben.jpg"])
        home.expectFinished(["anna": [], "ben": [own]])
    }
}

@Suite("The session over the control socket", .agents)
struct SocketSessionTests {
    private func ask(_ method: String, _ agent: Agent, _ body: String = "") -> Int? {
        ControlSocket.ask(
            method, "/v1/session", headers: ["Content-Type: application/json"], body: body,
            socket: agent.socket)?.status
    }

    private func signIn(_ user: String, _ agent: Agent) -> Int? {
        ask("POST", agent, "{\"token\":\"\(Agent.token(of: user))\",\"user\":\"\(user)\"}")
    }

    @Test("works like login and logout: it parks, stops and resumes uploads")
    func session() async throws {
        let home = try Household(["upload.fragments_in_flight": 1])
        home.server.hold(after: 3)
        let agent = home.agent
        try await agent.start()
        #expect(signIn("anna", agent) == 200)
        try await answering(agent)
        let old = try agent.drop("anna.jpg", .jpeg, size: 16 * 524_288)
        try await home.hasSent(2, of: old, from: "anna")

        #expect(ask("DELETE", agent) == 200)
        try await agent.keptSignedOut("anna.jpg")
        home.server.letGo()
        #expect(!FileManager.default.fileExists(atPath: "\(agent.state)/token"))
        #expect(ask("DELETE", agent) == 200)
        #expect(signIn("ben", agent) == 200)
        try await answering(agent)
        try await agent.parked("anna.jpg", as: "anna")
        let own = try agent.drop("ben.jpg", .jpeg, size: 3000)
        try await agent.reached("ben.jpg", .done)
        #expect(ask("POST", agent, "{\"token\":\"two words\",\"user\":\"anna\"}") == 400)
        try await agent.parked("anna.jpg", as: "anna")

        #expect(signIn("anna", agent) == 200)
        try await agent.reached("anna.jpg", .done)
        home.expectDisjoint()
        home.expectFinished(["anna": [old], "ben": [own]])
        #expect(home.server.store.repeated <= 2)
    }

    private func answering(_ agent: Agent) async throws {
        try await Poll.until("the agent to answer", lastState: { agent.log }) { agent.isAnswering }
    }
}

import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("Accounts", .agents)
struct AccountTests {
    /// The moment of the kill, while another user signs in.
    enum Moment: String, CaseIterable {
        case atOnce = "as soon as login starts"
        case kept = "once the new token is kept"
        case said = "once the agent has said so"
        case begunAnew = "once it has begun anew"
    }

    @Test("a content done for one user is sent again for another user, and stays done for the first")
    func change() async throws {
        let home = try Household()
        let agent = home.agent
        try await agent.start()
        try await agent.login("anna")
        let key = try agent.drop("anna.jpg", .jpeg, size: 5000, seed: 1)
        let sidecar = try await agent.reached("anna.jpg", .done)

        try await agent.login("ben")
        #expect(try agent.drop("ben.jpg", .jpeg, size: 5000, seed: 1) == key)
        #expect(try await agent.reached("ben.jpg", .done).deduplicated == false)
        let again = try agent.sidecar("anna.jpg")
        #expect(again?.state == .done && again?.finished_at == sidecar.finished_at && again?.remote == sidecar.remote)
        home.expectDisjoint()
        home.expectFinished(["anna": [key], "ben": [key]])

        // The server gets no further request for her file.
        let count = home.named(by: "anna").count
        try await agent.login("anna")
        let next = try agent.drop("anna-2.jpg", .jpeg, size: 5000, seed: 1)
        #expect(try await agent.reached("anna-2.jpg", .done).deduplicated)
        #expect(next == key)
        #expect(home.named(by: "anna").count == count)
        #expect(agent.program?.ending == nil)
        #expect(try await agent.stop() == .exited(0))
    }

    @Test("when login returns, the agent answers and names the new account")
    func returnsWhenBack() async throws {
        let home = try Household()
        let agent = home.agent
        try await agent.start()
        for user in ["anna", "ben", "anna"] {
            try await agent.login(user)
            let status = try await agent.command("status")
            #expect(status.code == 0 && !status.standardError.contains("not running"), "\(user): \(status)")
            let health = try #require(ControlSocket.get("/v1/health", socket: agent.socket))
            let members = try JSONSerialization.jsonObject(with: health.body) as? [String: Any]
            #expect(members?["account"] as? String == user)
        }
        #expect(agent.program?.ending == nil)
    }

    @Test("files dropped before any login belong to the first user who signs in")
    func nobody() async throws {
        let home = try Household()
        let agent = home.agent
        try await agent.start()
        let key = try agent.drop("anna.jpg", .jpeg, size: 5000)
        try await agent.reached("anna.jpg", .signedOut)
        try await agent.login("anna")
        try await agent.reached("anna.jpg", .done)
        try await agent.login("ben")
        // The finished file of Ben shows that the agent has restarted its session and requested nothing for Anna.
        let own = try agent.drop("ben.jpg", .jpeg, size: 3000)
        try await agent.reached("ben.jpg", .done)
        home.expectDisjoint()
        home.expectFinished(["anna": [key], "ben": [own]])
    }

    @Test("a kill during a change of user loses no file and uses no wrong token", arguments: Moment.allCases)
    func killed(moment: Moment) async throws {
        let home = try Household(uploadDelay: .milliseconds(60), ["upload.fragments_in_flight": 1])
        // However busy the machine is, no upload of Anna's finishes before Ben is signed in.
        home.server.setFaults(FaultServer.keepsAssembling)
        let agent = home.agent
        try await agent.start()
        try await agent.login("anna")
        let names = (0..<3).map { "anna-\($0).jpg" }
        let keys = try names.map { try agent.drop($0, .jpeg, size: 12 * 524_288) }
        for key in keys { try await home.hasSent(2, of: key, from: "anna") }

        let login = try Program(
            "outbox", ["login", "--user", "ben", "--token-file", agent.tokenFile(of: "ben"), "--config", agent.config],
            environment: agent.environment, directory: agent.directory.path,
            outputPrefix: agent.directory.path("login"))
        try await reached(moment, agent)
        try await agent.kill()
        try await login.wait()
        try await agent.start()
        // The login may have come too early to count; from now on, Ben is signed in.
        try await agent.login("ben")
        for name in names {
            #expect((try await agent.parked(name, as: "anna").fragments?.finished ?? 0) >= 1)
        }
        home.server.letFinish()
        let own = try agent.drop("ben.jpg", .jpeg, size: 3000)
        try await agent.reached("ben.jpg", .done)
        try await agent.login("anna")
        for name in names { try await agent.reached(name, .done) }
        home.expectDisjoint()
        home.expectFinished(["anna": keys, "ben": [own]])
        #expect(home.server.store.repeated <= 2 * keys.count)
    }

    private func reached(_ moment: Moment, _ agent: Agent) async throws {
        switch moment {
        case .atOnce: break
        case .kept:
            try await Poll.until("Ben's session", every: .milliseconds(1), lastState: { agent.log }) {
                Files.read(Array("\(agent.state)/user".utf8)) == Array("ben\n".utf8)
            }
        case .said: try await agent.hasSaid("a new token is stored", "ben")
        case .begunAnew: try await agent.parked("anna-0.jpg", as: "anna")
        }
    }

    @Test("files found at the start belong to the user who was signed in when they were dropped")
    func found() async throws {
        let home = try Household()
        let agent = home.agent
        try await agent.start()
        try await agent.login("anna")
        let first = try agent.drop("anna-1.jpg", .jpeg, size: 2000)
        try await agent.reached("anna-1.jpg", .done)
        try await agent.kill()
        let old = try agent.drop("anna.jpg", .jpeg, size: 3000)
        try await agent.login("ben")
        let new = try agent.drop("ben.jpg", .jpeg, size: 5000)
        try await agent.start()
        try await agent.reached("ben.jpg", .done)
        try await agent.parked("anna.jpg", as: "anna")
        // The owner is now known, and stays Anna after another restart.
        try await agent.kill()
        try await agent.start()
        try await agent.parked("anna.jpg", as: "anna")
        try await agent.login("anna")
        try await agent.reached("anna.jpg", .done)
        home.expectDisjoint()
        home.expectFinished(["anna": [first, old], "ben": [new]])
    }

    @Test("a waiting profile picture is discarded when another user signs in, and never sent for that user")
    func portrait() async throws {
        let home = try Household()
        home.server.setFaults { endpoint, _ in endpoint == .portrait ? .status(503) : nil }
        let agent = home.agent
        try await agent.start()
        try await agent.login("anna")
        try agent.drop("portrait/anna.png", NumberedPicture(1).png)
        try await agent.reached("portrait/anna.png", .waiting)
        try await agent.login("ben")
        #expect(try await agent.reached("portrait/anna.png", .cancelled).error?.code == "session_refused")
        home.server.require(tokens: ["for-ben": "ben"])
        home.server.letFinish()
        try agent.drop("portrait/ben.png", NumberedPicture(2).png)
        try await agent.reached("portrait/ben.png", .done)
        let sent = home.server.requests(with: "for-ben").filter { $0.endpoint == .portrait }
        #expect(sent.count == 1)
        #expect(home.server.store.portraits.count == 1)
    }
}

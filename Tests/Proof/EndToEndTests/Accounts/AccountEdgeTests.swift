import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("Accounts between two runs and during a logout", .agents)
struct AccountEdgeTests {
    @Test("a logout without an agent discards a waiting profile picture, and a new one waits for a login")
    func portrait() async throws {
        // The long retry delay ensures that no request is on its way when the agent is killed.
        let server = try FaultServer(faults: { endpoint, _ in
            endpoint == .portrait ? .status(503, retryAfter: "100") : nil
        })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try await agent.login("anna")
        try agent.drop("portrait/1.png", NumberedPicture(1).png)
        try await agent.reached("portrait/1.png", .waiting)
        try await agent.kill()
        try await agent.logout()
        server.setFaults { _, _ in nil }
        let count = server.records.count
        try await agent.start()
        #expect(try await agent.reached("portrait/1.png", .cancelled).error?.code == "session_refused")
        try agent.drop("portrait/2.png", NumberedPicture(2).png)
        try await agent.reached("portrait/2.png", .signedOut)
        #expect(try await agent.command("wait", "--timeout", "1500ms", "portrait/2.png").code == 75)
        #expect(server.records.count == count)
        try await agent.login("anna")
        try await agent.reached("portrait/2.png", .done)
        #expect(server.store.portraits.count == 1)
    }

    @Test("without an agent between logout and login, files dropped in between belong to the next user")
    func nextOffline() async throws {
        let home = try Household()
        let agent = home.agent
        try await agent.start()
        try await agent.login("anna")
        let first = try agent.drop("anna-1.jpg", .jpeg, size: 2000)
        try await agent.reached("anna-1.jpg", .done)
        #expect(try await agent.stop() == .exited(0))
        let old = try agent.drop("anna.jpg", .jpeg, size: 4000)
        try await agent.logout()
        let free = try agent.drop("ben.jpg", .jpeg, size: 3000)
        try await agent.login("ben")
        try await agent.start()
        try await agent.reached("ben.jpg", .done)
        try await agent.parked("anna.jpg", as: "anna")
        try await agent.login("anna")
        try await agent.reached("anna.jpg", .done)
        home.expectFinished(["anna": [first, old], "ben": [free]])
    }

    @Test("a post found at the start belongs to the user who was signed in when it was dropped")
    func foundSource() async throws {
        let home = try Household()
        let agent = home.agent
        try await agent.start()
        try await agent.login("anna")
        let first = try agent.drop("anna.jpg", .jpeg, size: 3000)
        try await agent.reached("anna.jpg", .done)
        try await agent.kill()
        try agent.drop("album/source.toml", Array("title = \"Anna's\"\n".utf8))
        let picture = try agent.drop("album/anna-1.jpg", .jpeg, size: 4000)
        try await agent.login("ben")
        try await agent.start()
        try await agent.post("album", is: "signed_out", code: "other_account")
        try await agent.login("anna")
        try await agent.post("album", is: "done")
        home.expectDisjoint(["anna"])
        home.expectFinished(["anna": [first, picture], "ben": []])
    }

    @Test("a logout during uploads sends nothing without a token")
    func underWay() async throws {
        let home = try Household(uploadDelay: .milliseconds(5))
        let agent = home.agent
        try await agent.start()
        try await agent.login("anna")
        var keys: [String] = []
        for turn in 1...3 {
            keys.append(try agent.drop("anna-\(turn).jpg", .jpeg, size: 32 * 524_288))
            try await home.hasSent(turn, of: keys[keys.count - 1], from: "anna")
            try await agent.logout()
            for name in (1...turn).map({ "anna-\($0).jpg" }) {
                try await agent.reached(name, .signedOut, .done) { $0.state == .done || $0.error?.code == "signed_out" }
            }
            try await agent.login("anna")
        }
        for name in (1...3).map({ "anna-\($0).jpg" }) { try await agent.reached(name, .done) }
        home.expectNothingByNobody()
        home.expectFinished(["anna": keys])
    }

    @Test("files belong to the user signed in when they were dropped, even if no agent ran")
    func neverRan() async throws {
        let home = try Household()
        let agent = home.agent
        try await agent.login("anna")
        let old = try agent.drop("anna.jpg", .jpeg, size: 4000)
        try await agent.login("ben")
        let new = try agent.drop("ben.jpg", .jpeg, size: 3000)
        try await agent.start()
        try await agent.reached("ben.jpg", .done)
        try await agent.parked("anna.jpg", as: "anna")
        try await agent.login("anna")
        try await agent.reached("anna.jpg", .done)
        home.expectDisjoint()
        home.expectFinished(["anna": [old], "ben": [new]])
    }
}

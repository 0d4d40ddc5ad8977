import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("Credentials", .agents)
struct CredentialTests {
    private func agent(for server: FaultServer, token: String?, _ settings: Settings = [:]) throws -> Agent {
        let agent = try Agent(remote: server.url, settings.merging(["remote.token_file": "token"]) { $1 })
        if let token { try write(token, for: agent) }
        return agent
    }

    private func write(_ token: String, for agent: Agent) throws {
        try "\(token)\n".write(toFile: agent.directory.path("token"), atomically: true, encoding: .utf8)
    }

    @Test("from token_file are sent as a bearer token with every request")
    func bearer() async throws {
        let server = try FaultServer(token: "sesame")
        let agent = try agent(for: server, token: "sesame")
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 700_000)
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
        #expect(Set(server.records.map(\.authorization)) == ["Bearer sesame"])
    }

    @Test("from OUTBOX_TOKEN take precedence over token_file")
    func environmentFirst() async throws {
        let server = try FaultServer(token: "from-environment")
        let agent = try Agent(
            remote: server.url, ["remote.token_file": "token"], environment: ["OUTBOX_TOKEN": "from-environment"])
        try write("from-file", for: agent)
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)
    }

    @Test(
        "that are missing or refused make all files signed_out, and new ones in token_file resume them at once",
        arguments: [nil, "old"])
    func refused(old: String?) async throws {
        let server = try FaultServer(token: "new")
        // The agent would try again only after the deadline of this test.
        let agent = try agent(for: server, token: old, ["upload.retry_interval": "10m"])
        try await agent.start()
        let keys = [try agent.drop("a.jpg", .jpeg, size: 2000), try agent.drop("b.jpg", .jpeg, size: 700_000)]

        for name in ["a.jpg", "b.jpg"] {
            #expect(try await agent.reached(name, .signedOut).error != nil)
        }
        try write("new", for: agent)

        for name in ["a.jpg", "b.jpg"] { try await agent.reached(name, .done) }
        expectClean(server, finished: keys)
    }

    @Test("that expire during an upload cost no acknowledged fragment")
    func expire() async throws {
        let server = try FaultServer(
            uploadDelay: .milliseconds(40), token: "one", faults: FaultServer.keepsAssembling)
        let agent = try agent(for: server, token: "one", ["upload.fragments_in_flight": 2])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 30 * 524_288)
        try await Poll.until("fragments on their way", lastState: { agent.log }) { server.count(.upload) > 6 }

        server.require(token: "two")
        let out = try await agent.reached("a.jpg", .signedOut)
        #expect((out.fragments?.finished ?? 0) > 0)
        server.letFinish()
        try write("two", for: agent)

        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
        #expect(server.store.repeated == 0)
    }

    @Test("that are refused are probed once per retry_interval, not by every file")
    func probes() async throws {
        let server = try FaultServer(token: "new")
        let agent = try agent(for: server, token: "old", ["upload.retry_interval": "1s"])
        try await agent.start()
        for index in 0..<20 { try agent.drop("\(index).jpg", .jpeg, size: 2000) }
        for index in 0..<20 { try await agent.reached("\(index).jpg", .signedOut) }
        let quiet = server.records.count
        try await Poll.until("three more probes", lastState: { agent.log }) { server.records.count >= quiet + 3 }
        let probes = server.records.suffix(from: quiet).prefix(3).map(\.at)
        #expect(probes[0].duration(to: probes[2]) > .seconds(1))
    }

    @Test("a 401 or 403 on any request keeps progress", arguments: [401, 403], FaultTableTests.requests)
    func anywhere(status: Int, request: FaultServer.Endpoint) async throws {
        let server = try FaultServer(faults: { endpoint, number in
            endpoint == request && number == 1 ? .status(status) : nil
        })
        let agent = try agent(for: server, token: "one", ["upload.fragments_in_flight": 1])
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 1_200_000)

        // A 403 may concern one file only, which then fails. Either way, the session continues for the other files.
        let states: [Sidecar.State] = status == 403 ? [.done, .failed] : [.done]
        try await Poll.until("an outcome", lastState: { agent.log }) {
            guard let state = try agent.sidecar("a.jpg")?.state else { return false }
            return states.contains(state)
        }
        #expect(server.store.repeated == 0)
        #expect(server.store.mixtures == [])
    }
}

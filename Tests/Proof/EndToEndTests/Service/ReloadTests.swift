import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("SIGHUP", .agents)
struct ReloadTests {
    private func reload(_ agent: Agent, _ changes: Settings) throws {
        try agent.configure(changes)
        agent.program?.kill(SIGHUP)
    }

    /// Reloads and waits for the end of the reload: two pending signals would count as one.
    private func reload(_ agent: Agent, _ changes: Settings, heardBy listener: NotifyListener) async throws {
        let told = listener.receive().count
        try reload(agent, changes)
        let reloading = try await listener.wait(for: "RELOADING=1", after: told)
        try await listener.wait(for: "READY=1", after: reloading)
    }

    @Test("lifts the bandwidth limit of a running upload")
    func bandwidth() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["upload.bandwidth_limit": "20KB"])
        try await agent.start()
        // Five minutes at that pace.
        let key = try agent.drop("a.jpg", .jpeg, size: 6_000_000)
        try await agent.reached("a.jpg", .uploading)

        try reload(agent, ["upload.bandwidth_limit": "0"])

        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
        #expect(server.store.repeated == 0)
    }

    @Test("applies a changed upload.files_in_flight")
    func filesInFlight() async throws {
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .isFinish ? .assembling : nil })
        let agent = try Agent(remote: server.url, ["upload.files_in_flight": 1, "upload.bandwidth_limit": "20KB"])
        try await agent.start()
        let keys = try ["a.jpg", "b.jpg"].map { try agent.drop($0, .jpeg, size: 3_000_000) }
        try await Poll.until("one file to be uploading, and the other queued", lastState: { agent.log }) {
            let states = try ["a.jpg", "b.jpg"].compactMap { try agent.sidecar($0)?.state }
            return Set(states) == [.uploading, .queued]
        }

        try reload(agent, ["upload.files_in_flight": 2])
        for name in ["a.jpg", "b.jpg"] { try await agent.reached(name, .uploading) }

        server.setFaults { _, _ in nil }
        try reload(agent, ["upload.bandwidth_limit": "0"])
        for name in ["a.jpg", "b.jpg"] { try await agent.reached(name, .done) }
        expectClean(server, finished: keys)
    }

    @Test("applies a changed log level")
    func logLevel() async throws {
        let listener = try NotifyListener(at: "@outbox-e2e-\(UUID().uuidString)")
        let agent = try Agent(
            remote: "http://127.0.0.1:1", ["log.level": "error"], environment: ["NOTIFY_SOCKET": listener.address])
        try await agent.start()
        try await listener.wait(for: "READY=1")
        try await reload(agent, ["log.level": "error", "upload.files_in_flight": 2], heardBy: listener)
        try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .waiting)
        let before = ["info", "notice", "warning"].map { agent.said(" \($0) ").count }
        #expect(before == [0, 0, 0])

        try await reload(agent, ["log.level": "info"], heardBy: listener)
        try await agent.hasSaid("notice", "configuration is reloaded")
        try await reload(agent, ["log.level": "critical"], heardBy: listener)
        try agent.drop("b.jpg", .jpeg, size: 2000)
        try await agent.reached("b.jpg", .waiting)
        try await reload(agent, ["log.level": "debug"], heardBy: listener)
        try await agent.hasSaid("notice", "configuration is reloaded", atLeast: 2)

        #expect(agent.said("configuration is reloaded").count == 2)
    }

    @Test("applies a changed remote.token_file")
    func tokenFile() async throws {
        let server = try FaultServer(token: "new")
        let agent = try Agent(remote: server.url, ["remote.token_file": "old.token"])
        for name in ["old", "new"] {
            let path = agent.directory.path("\(name).token")
            try "\(name)\n".write(toFile: path, atomically: true, encoding: .utf8)
            #expect(chmod(path, 0o600) == 0)
        }
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 600_000)
        try await agent.reached("a.jpg", .signedOut)

        try reload(agent, ["remote.token_file": "new.token"])

        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
    }

    @Test(
        "rejects an invalid configuration, names the key, and keeps the old configuration",
        arguments: ["upload.files_in_fligth", "upload.files_in_flight"])
    func broken(key: String) async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let good = try String(contentsOfFile: agent.config, encoding: .utf8)

        try reload(agent, [key: 1000])

        try await agent.hasSaid("error", "configuration", "agent.toml:", key)
        try await expectGoingOn(agent, server, mended: good)
    }

    @Test("rejects a file that is not TOML, and keeps the old configuration")
    func noTOML() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let good = try String(contentsOfFile: agent.config, encoding: .utf8)

        try (good + "[upload\n").write(toFile: agent.config, atomically: true, encoding: .utf8)
        agent.program?.kill(SIGHUP)

        try await agent.hasSaid("error", "configuration", "agent.toml", "TOML")
        try await expectGoingOn(agent, server, mended: good)
    }

    private func expectGoingOn(_ agent: Agent, _ server: FaultServer, mended good: String) async throws {
        var keys = [try agent.drop("a.jpg", .jpeg, size: 2000)]
        try await agent.reached("a.jpg", .done)
        #expect(agent.said("configuration is reloaded") == [])
        try good.write(toFile: agent.config, atomically: true, encoding: .utf8)
        agent.program?.kill(SIGHUP)
        try await agent.hasSaid("configuration is reloaded")
        keys.append(try agent.drop("b.jpg", .jpeg, size: 2000))
        try await agent.reached("b.jpg", .done)
        expectClean(server, finished: keys)
    }

    @Test("names only the changed keys that need a restart")
    func needRestart() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()

        try reload(
            agent,
            ["remote.url": "http://127.0.0.1:1", "intake.after_upload": "delete", "upload.retry_interval": "2s"])

        try await agent.hasSaid("warning", "remote.url", "intake.after_upload")
        #expect(agent.said("warning", "remote.url", "upload.retry_interval") == [])
        let key = try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)
        #expect(agent.exists("a.jpg"))
        expectClean(server, finished: [key])
    }
}

@Suite("SIGTERM", .agents)
struct TerminationTests {
    @Test(
        "ends the agent within 5 s while the server hangs, with status 0 and without losing progress",
        arguments: FaultTableTests.requests)
    func hanging(request: FaultServer.Endpoint) async throws {
        let server = try FaultServer(faults: { endpoint, number in
            // The first fragment arrives.
            endpoint == request && (request != .upload || number > 1) ? .hang : nil
        })
        let agent = try Agent(remote: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 3 * 524_288)
        let hanging = request == .upload ? 2 : 1
        try await Poll.until("a request that hangs", lastState: { agent.log }) { server.count(request) >= hanging }

        // The contract's 5 s, and three times as much for a busy machine.
        #expect(try await agent.stop(timeout: .seconds(20)) == .exited(0))

        #expect(try agent.sidecar("a.jpg")?.state.isFinal == false)
        server.setFaults { _, _ in nil }
        try await agent.start()
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
        #expect(server.store.repeated == 0, "what the server acknowledged is not sent again")
    }
}

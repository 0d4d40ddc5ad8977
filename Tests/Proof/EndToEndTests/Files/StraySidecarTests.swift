import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Sidecars without a file", .agents)
struct StraySidecarTests {
    private let server: FaultServer
    private let agent: Agent

    init() throws {
        server = try FaultServer(tellsExisting: true)
        agent = try Agent(remote: server.url, ["intake.rescan": "1s"])
    }

    private func sidecars() -> Set<String> {
        Set(Files.regularFiles(agent.outbox).filter { $0.hasSuffix(".outbox.json") })
    }

    /// Leaves the sidecar of a file that was still open for writing, and kills the agent.
    private func leaveSettling(_ name: String) async throws {
        let file = open(agent.path(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        #expect(write(file, "half", 4) == 4)
        try await agent.reached(name, .settling)
        try await agent.kill()
        close(file)
        agent.remove(name)
    }

    @Test("of a file removed while no agent ran say cancelled, and expire after the retention")
    func vanished() async throws {
        try await agent.start()
        try await leaveSettling("half.jpg")
        try await agent.start()
        try await agent.reached("half.jpg", .cancelled) { $0.error?.code == "removed" }
        #expect(try await agent.command("status").standardOutput.contains("half.jpg"))
        try await agent.stop()
        try agent.configure(["sidecars.retention": "1s"])
        try await agent.start()
        try await Poll.until("the sidecar to go") { try agent.sidecar("half.jpg") == nil }
    }

    @Test("of a finished file removed from a renamed directory are deleted at the next start")
    func renamedDirectory() async throws {
        try await agent.start()
        for name in ["old/gone.jpg", "old/here.jpg"] {
            try agent.drop(name, .jpeg, size: 20_000)
            try await agent.reached(name, .done)
        }
        _ = try await agent.stop()
        try Files.rename(agent.path("old"), to: agent.path("new"))
        agent.remove("new/gone.jpg")
        try await agent.start()
        try await Poll.until("its sidecar to go", lastState: { "\(sidecars())" }) {
            sidecars() == ["new/here.jpg.outbox.json"]
        }
        try await agent.reached("new/here.jpg", .done)
    }

    @Test("and foreign files with such names stay, but old temporary files of a kill are deleted")
    func foreign() async throws {
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 20_000)
        try await agent.reached("a.jpg", .done)
        _ = try await agent.stop()
        let sidecar = try #require(FileManager.default.contents(atPath: agent.path("a.jpg.outbox.json")))
        let foreign = ["b.jpg.outbox.json": "{\"mine\": true}", ".outbox-12345678.tmp": "mine", "c.outbox.json": ""]
        for (name, text) in foreign { try agent.drop(name, Array(text.utf8)) }
        try agent.drop(".outbox-0123abcd.tmp", Array(sidecar.prefix(100)))
        try agent.drop(".outbox-0123abce.tmp", Array(sidecar))
        var hourAgo = [timeval(tv_sec: time(nil) - 3600, tv_usec: 0), timeval(tv_sec: time(nil) - 3600, tv_usec: 0)]
        for name in [".outbox-0123abcd.tmp", ".outbox-12345678.tmp"] {
            #expect(utimes(agent.path(name), &hourAgo) == 0)
        }
        // A sidecar of this agent under a name that the agent would never give it.
        try agent.drop("copy.outbox.json", Array(sidecar))

        try await agent.start()
        try await Poll.until("the left-over to go") { !agent.exists(".outbox-0123abcd.tmp") }
        try await agent.hasScannedAnew()
        for name in foreign.keys + [".outbox-0123abce.tmp", "copy.outbox.json", "a.jpg.outbox.json"] {
            #expect(agent.exists(name), "\(name)")
        }
    }

    @Test("are deleted by prune, with an agent and without")
    func prune() async throws {
        try agent.configure(["intake.rescan": "1h"])
        try await agent.start()
        try await leaveSettling("half.jpg")
        #expect(try await agent.command("prune", "--json").standardOutput.contains("\"sidecars\":1"))
        #expect(sidecars().isEmpty)

        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 20_000)
        let text = try #require(
            try await Poll.value("a sidecar") { () -> Data? in
                try agent.sidecar("a.jpg")?.state == .done
                    ? FileManager.default.contents(atPath: agent.path("a.jpg.outbox.json")) : nil
            })
        // A directory from another place may contain such a sidecar.
        try agent.drop("other/a.jpg.outbox.json", Array(text))
        #expect(try await agent.command("prune", "--json").standardOutput.contains("\"sidecars\":1"))
        try await Poll.until("the stray to go", lastState: { "\(sidecars())" }) { sidecars() == ["a.jpg.outbox.json"] }
    }

    @Test("are not left behind when sidecars.directory changes")
    func otherDirectory() async throws {
        try await agent.start()
        for name in ["a.jpg", "trip/b.jpg"] {
            try agent.drop(name, .jpeg, size: 20_000)
            try await agent.reached(name, .done)
        }
        _ = try await agent.stop()
        let beside: Set<String> = ["a.jpg.outbox.json", "trip/b.jpg.outbox.json"]
        #expect(sidecars() == beside)

        for (tree, other) in [("one", nil), ("two", "one")] {
            try agent.configure(["sidecars.directory": .string(agent.directory.path(tree))])
            try await agent.start()
            try await Poll.until("the sidecars in \(tree)") {
                Set(Files.regularFiles(agent.directory.path(tree))) == beside && sidecars().isEmpty
                    && other.map { Files.tree(agent.directory.path($0)).isEmpty } ?? true
            }
            // The agent records the new place after the last sidecar has left the old one. It answers later than that.
            _ = try await agent.command("status")
            _ = try await agent.stop()
        }
        try agent.configure(["sidecars.directory": ""])
        try await agent.start()
        try await Poll.until("the sidecars beside their files") {
            sidecars() == beside && Files.tree(agent.directory.path("two")).isEmpty
        }
    }
}

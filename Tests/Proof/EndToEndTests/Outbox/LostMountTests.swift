import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// The trial R33 also has a mount whose process is gone.
@Suite("A file system below the outbox", .agents, .enabled(if: getuid() == 0, "only root may mount"))
struct LostMountTests {
    private func run(_ program: String, _ arguments: String...) async throws {
        let output = try await Program.run(
            "/usr/bin/\(program)", arguments, environment: ["PATH": "/usr/bin:/usr/sbin"], directory: "/")
        try #require(output.code == 0, "\(output)")
    }

    @Test("that is unmounted cancels nothing, and its files are uploaded when it is mounted again")
    func unmounted() async throws {
        // No upload begins before the file system is back.
        let server = try FaultServer(faults: { endpoint, _ in endpoint == .preLoad ? .status(503) : nil })
        let agent = try Agent(remote: server.url, ["intake.rescan": "1s"])
        let card = agent.path("card")
        let keep = agent.directory.path("keep")
        for directory in [card, keep] { try Files.makeDirectory(directory) }
        try await run("mount", "-t", "tmpfs", "none", keep)
        defer { for point in [card, keep] { umount2(point, Int32(MNT_DETACH)) } }
        try await run("mount", "--bind", keep, card)
        try await agent.start()
        let waiting = try agent.drop("card/in/a.jpg", .jpeg, size: 3_000_000)
        try await agent.reached("card/in/a.jpg", .waiting)

        try await run("umount", "-l", card)
        try agent.drop("witness.jpg", .jpeg, size: 2000)
        try await agent.reached("witness.jpg", .waiting)
        agent.remove("witness.jpg")
        // The removal of the witness counts by now, so a removal of the other file would count too.
        try await agent.reached("witness.jpg", .cancelled)
        let status = try await agent.command("status", "card/in/a.jpg", "--json").standardOutput
        let isKept = status.contains(/"state":"(?:queued|waiting)"/)
        #expect(isKept, "\(status)")

        try await run("mount", "--bind", keep, card)
        server.letFinish()
        try await agent.reached("card/in/a.jpg", .done)
        expectClean(server, finished: [waiting])
    }

    @Test("that does not answer holds up nothing else, is named, and its files are done once it answers")
    func hanging() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        let card = agent.path("card")
        try Files.makeDirectory(card)
        try await run("mount", "-t", "tmpfs", "none", card)
        defer { umount2(card, Int32(MNT_DETACH)) }
        let board = try FaultBoard(in: agent.directory.path)
        defer { board.failing = false }
        let usual = agent.environment
        let hang = FaultBoard.Rule(.hang, ["open", "stat", "read"], calls: 1...1_000_000, of: "*/outbox/card*")
        agent.environment.merge(board.environment([hang])) { $1 }
        try await agent.start()
        board.failing = true
        let stuck = try agent.drop("card/a.jpg", .jpeg, size: 3000)
        let other = try agent.drop("b.jpg", .jpeg, size: 3000)
        try await agent.reached("b.jpg", .done)
        try await named(card, by: agent)
        agent.environment = usual
        let wait = try await agent.command("wait", "--timeout", "2s")
        #expect(wait.code == 75, "\(wait)")
        #expect(wait.standardError.contains("card"), "\(wait)")

        // The end and the next start wait for nothing.
        #expect(try await agent.stop() == .exited(0))
        #expect(agent.said("is killed") == [])
        agent.environment.merge(board.environment([hang])) { $1 }
        try await agent.start()
        let third = try agent.drop("c.jpg", .jpeg, size: 3000)
        try await agent.reached("c.jpg", .done)
        try await named(card, by: agent)

        board.failing = false
        try await agent.reached("card/a.jpg", .done)
        expectClean(server, finished: [stuck, other, third])
    }

    /// Waits until the agent's health names a mount.
    private func named(_ mount: String, by agent: Agent) async throws {
        try await Poll.until("the problem", lastState: { health(of: agent) }) {
            health(of: agent).contains("\(mount) does not answer")
        }
    }

    private func health(of agent: Agent) -> String {
        let body = ControlSocket.get("/v1/health", socket: agent.socket)?.body ?? Data()
        return String(decoding: body, as: UTF8.self).replacing("\\/", with: "/")
    }
}

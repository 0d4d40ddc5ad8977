import EndToEndSupport
import Glibc
import TestSupport
import Testing

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
}

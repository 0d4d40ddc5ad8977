import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// An agent whose outbox is mounted in a separate mount namespace, if the machine allows it (man 1 unshare).
private final class MountedAgent {
    let agent: Agent

    /// - Parameter mount: Shell commands that mount a file system at `$O`, the outbox.
    convenience init(remote url: String, _ settings: Settings = [:], mount: String) throws {
        self.init(try Agent(remote: url, settings), mount: mount)
    }

    init(_ agent: Agent, mount: String) {
        self.agent = agent
        agent.launcher = [
            "/usr/bin/unshare", "-rm", "sh", "-c", "O=$1; shift; \(mount) && exec \"$@\"", "sh", agent.outbox,
        ]
    }

    /// Returns a path in the outbox, as the agent sees it.
    func path(_ name: String) throws -> String {
        "/proc/\(try #require(agent.program?.pid))/root\(agent.path(name))"
    }

    /// Runs shell commands in the agent's mount namespace.
    func change(_ mount: String) async throws {
        let pid = try #require(agent.program?.pid)
        let output = try await Program.run(
            "/usr/bin/nsenter",
            ["--user", "--mount", "--preserve-credentials", "--target", "\(pid)", "sh", "-c", "O=$1; \(mount)"]
                + ["sh", agent.outbox], environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], directory: "/")
        try #require(output.code == 0, "\(output)")
    }

    func sidecar(_ name: String) throws -> Sidecar? {
        guard let data = FileManager.default.contents(atPath: try path(name + ".outbox.json")) else { return nil }
        return try JSONDecoder().decode(Sidecar.self, from: data)
    }
}

@Suite("An unwritable outbox", .agents, .enabled(if: Unshare.mayMount, "\(Unshare.why)"))
struct UnwritableOutboxTests {
    @Test("that is read-only is uploaded, with one error in the log, and wait answers")
    func readOnly() async throws {
        let server = try FaultServer()
        let mounted = try MountedAgent(
            remote: server.url, mount: #"mount --bind "$O" "$O" && mount -o remount,bind,ro "$O""#)
        let agent = mounted.agent
        var keys = [try agent.drop("early.jpg", .jpeg, size: 2000)]
        try await agent.start()
        for index in 0..<10 { keys.append(try agent.drop("trip/\(index).jpg", .jpeg, size: 600_000)) }

        try await Poll.until("all to be there", lastState: { agent.log }) { server.finished.count == keys.count }
        let wait = try await agent.command("wait", "--json")

        #expect(wait.code == 0, "\(wait)")
        #expect(wait.standardOutput.contains("trip/9.jpg"))
        #expect(try await agent.entry("trip/9.jpg")?["state"] as? String == "done")
        #expect(Files.tree(agent.outbox).filter { $0.hasSuffix(".json") } == [])
        try await agent.hasSaid("error", "sidecars")
        #expect(agent.said("error", "sidecars").count + agent.said("warning", "sidecars").count == 1)
        expectClean(server, finished: keys)

        try await mounted.change(#"mount -o remount,bind,rw "$O""#)
        keys.append(try agent.drop("late.jpg", .jpeg, size: 2000))
        try await agent.reached("late.jpg", .done)
        try await agent.reached("trip/9.jpg", .done)
        expectClean(server, finished: keys)
    }

    @Test("keeps files that should be deleted, reports them once, and deletes them when it is writable")
    func readOnlyWithDelete() async throws {
        let server = try FaultServer()
        let mounted = try MountedAgent(
            remote: server.url, ["intake.after_upload": "delete", "intake.rescan": "1s"],
            mount: #"mount --bind "$O" "$O" && mount -o remount,bind,ro "$O""#)
        let agent = mounted.agent
        try await agent.start()
        let keys = try (0..<5).map { try agent.drop("\($0).jpg", .jpeg, size: 2000) }

        try await agent.hasSaid("error", "can't be moved out of the outbox")
        #expect(try await agent.command("wait").code == 0)
        for index in 0..<5 { #expect(agent.exists("\(index).jpg")) }
        #expect(agent.said("can't be moved out of the outbox").count == 1)

        try await mounted.change(#"mount -o remount,bind,rw "$O""#)
        try await Poll.until("all to go", lastState: { agent.log }) {
            !Files.regularFiles(agent.outbox).contains { $0.hasSuffix(".jpg") }
        }
        expectClean(server, finished: keys)
        for index in 0..<5 { try await agent.reached("\(index).jpg", .done) }
    }

    @Test("on a full disk is uploaded, and gets sidecars once there is space")
    func full() async throws {
        let server = try FaultServer()
        let mounted = try MountedAgent(remote: server.url, mount: #"mount -t tmpfs -o size=1m,mode=755 none "$O""#)
        let agent = mounted.agent
        try await agent.start()
        let filler = try mounted.path(".filler")
        let picture = SampleMedia.jpeg.bytes(size: 600_000, seed: 1)
        // Leaves room for the picture only.
        let filled = fill(filler)
        try #require(truncate(filler, filled - (600_000 / 4096 + 1) * 4096) == 0)
        // Write under a hidden name first: otherwise the first sidecar would take a page while the picture is
        // written.
        try Files.write(picture, to: try mounted.path(".a.jpg"))
        try Files.rename(try mounted.path(".a.jpg"), to: try mounted.path("a.jpg"))

        try await Poll.until("it to be there", lastState: { agent.log }) { server.finished == [Digest.md5(picture)] }
        #expect(try await agent.command("wait").code == 0)
        #expect(try mounted.sidecar("a.jpg") == nil)
        try await agent.hasSaid("error", "sidecars")
        #expect(agent.said("error", "sidecars").count + agent.said("warning", "sidecars").count == 1)

        try #require(unlink(filler) == 0)
        try await Poll.until("the sidecar", lastState: { agent.log }) {
            try mounted.sidecar("a.jpg")?.state == .done
        }
        expectClean(server, finished: [Digest.md5(picture)])
    }
}

/// Writes pages to a file until the disk is full, and returns the number of bytes.
private func fill(_ path: String) -> Int {
    let page = [UInt8](repeating: 0, count: 4096)
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
    defer { close(descriptor) }
    var filled = 0
    while write(descriptor, page, page.count) == page.count { filled += page.count }
    return filled
}

@Suite("An outbox that contains the agent's own directories", .agents)
struct NestedOutboxTests {
    @Test("through a symbolic link is a configuration error, and nothing is sent", arguments: ["state", "avatars"])
    func symbolicLink(key: String) async throws {
        let server = try FaultServer()
        let agent = try Agent(
            remote: server.url, [key: "link/deep", "intake.media_only": false])
        try FileManager.default.createSymbolicLink(
            atPath: agent.directory.path("link"), withDestinationPath: agent.outbox)
        try agent.drop("a.txt", Array("text".utf8))
        let output = try await agent.command("run")
        #expect(output.code == 78, "\(output)")
        #expect(output.standardError.contains(key) && output.standardError.contains("leads into the outbox"))

        #expect(server.records.isEmpty)
        #expect(Files.tree(agent.outbox) == ["a.txt"])

        let check = try await agent.command("config", "check")
        #expect(check.code == 78 && check.standardError == output.standardError, "\(check)")
        let visit = try DoctorVisit(try await agent.command("doctor", "--json"))
        #expect(visit.code == 1 && visit.level("configuration") == "stop", "\(visit)")
        #expect(output.standardError == "outbox: \(visit.message("configuration"))\n")
    }

    @Test(
        "through a bind mount never sends files in them",
        .enabled(if: Unshare.mayMount, "\(Unshare.why)"))
    func bindMount() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.media_only": false, "intake.rescan": "1s"])
        try Files.makeDirectory(agent.path("mine"))
        try Files.makeDirectory(agent.state)
        let mounted = MountedAgent(agent, mount: "mount --bind \"\(agent.state)\" \"$O/mine\"")
        try Files.write(Array("secret".utf8), to: agent.state + "/token")
        try await agent.start()
        #expect(FileManager.default.fileExists(atPath: try mounted.path("mine/token")))
        var keys: [String] = []
        for name in ["a.jpg", "b.jpg", "c.jpg"] {
            keys.append(try agent.drop(name, .jpeg, size: 2000))
            try await agent.reached(name, .done)
        }
        expectClean(server, finished: keys)
        #expect(try mounted.sidecar("mine/token") == nil)
    }
}

@Suite("An outbox that vanishes", .agents)
struct VanishingOutboxTests {
    /// Starts a server that refuses everything until told otherwise, and an agent with a waiting file.
    private func start() async throws -> (server: FaultServer, agent: Agent, key: String) {
        let server = try FaultServer(faults: { _, _ in .status(503) })
        let agent = try Agent(remote: server.url, ["intake.rescan": "1s"])
        try await agent.start()
        let key = try agent.drop("trip/a.jpg", .jpeg, size: 600_000)
        try await agent.reached("trip/a.jpg", .waiting)
        return (server, agent, key)
    }

    private func expectNothingCancelled(_ server: FaultServer, _ agent: Agent) async throws {
        try await agent.hasSaid("error", "outbox is gone", agent.outbox)
        #expect(try await agent.isStillUnderWay("trip/a.jpg"))
        #expect(server.count(.delete) == 0)
    }

    @Test("because it is renamed cancels nothing, is reported, and resumes when it returns")
    func renamed() async throws {
        let (server, agent, key) = try await start()
        let away = agent.directory.path("away")

        try Files.rename(agent.outbox, to: away)
        try await expectNothingCancelled(server, agent)
        #expect(try await agentProblems(agent).contains { $0.contains("outbox") })
        // Commands still find its files by path.
        for name in ["trip/a.jpg", agent.path("trip/a.jpg")] {
            let output = try await Program.run(
                "outbox", ["wait", name, "--timeout", "1s", "--config", agent.config],
                environment: agent.environment, directory: agent.directory.path)
            #expect(output.code == 75, "\(output)")
        }
        try Files.rename(away, to: agent.outbox)
        try await agent.hasSaid("outbox is back")

        server.setFaults { _, _ in nil }
        try await agent.reached("trip/a.jpg", .done)
        let late = try agent.drop("late.jpg", .jpeg, size: 2000)
        try await agent.reached("late.jpg", .done)
        expectClean(server, finished: [key, late])
    }

    /// Runs `status` from another directory, because the outbox cannot be a working directory now.
    private func agentProblems(_ agent: Agent) async throws -> [String] {
        let output = try await Program.run(
            "outbox", ["status", "--json", "--config", agent.config], environment: agent.environment,
            directory: agent.directory.path)
        let object = try JSONSerialization.jsonObject(with: Data(output.standardOutput.utf8)) as? [String: Any]
        return object?["problems"] as? [String] ?? []
    }

    @Test("because it is deleted and recreated cancels nothing, and uploads restored and new files")
    func recreated() async throws {
        let (server, agent, key) = try await start()
        let bytes = try #require(Files.read(Array(agent.path("trip/a.jpg").utf8)))

        try await agent.remove(directory: agent.outbox)
        try await expectNothingCancelled(server, agent)
        try Files.makeDirectory(agent.outbox)
        try await agent.hasSaid("outbox is back")
        server.setFaults { _, _ in nil }
        let late = try agent.drop("late.jpg", .jpeg, size: 2000)
        try await agent.reached("late.jpg", .done)
        #expect(try await agent.isStillUnderWay("trip/a.jpg"))

        try agent.drop("trip/a.jpg", bytes)
        try await agent.reached("trip/a.jpg", .done)
        expectClean(server, finished: [key, late])
    }

    @Test("behind another directory cancels nothing, and the files of both are uploaded")
    func replaced() async throws {
        let (server, agent, key) = try await start()
        let first = agent.directory.path("first")
        let other = agent.directory.path("other")
        try Files.makeDirectory(other)
        let picture = SampleMedia.png.bytes(size: 3000, seed: 5)
        try Files.write(picture, to: other + "/other.png")

        try Files.rename(agent.outbox, to: first)
        try Files.rename(other, to: agent.outbox)
        try await expectNothingCancelled(server, agent)
        server.setFaults { _, _ in nil }
        try await agent.reached("other.png", .done)
        try await agent.hasSaid("warning", "another directory")
        #expect(try await agent.isStillUnderWay("trip/a.jpg"))

        try Files.rename(agent.outbox, to: other)
        try Files.rename(first, to: agent.outbox)
        try await agent.reached("trip/a.jpg", .done)
        expectClean(server, finished: [key, Digest.md5(picture)])
    }

    @Test("and is replaced by another directory during a restart cancels nothing")
    func replacedOverRestart() async throws {
        let (server, agent, key) = try await start()
        let first = agent.directory.path("first")
        try await agent.stop()
        try Files.rename(agent.outbox, to: first)
        try Files.makeDirectory(agent.outbox)

        try await agent.start()
        #expect(try await agent.isStillUnderWay("trip/a.jpg"))
        try await agent.hasSaid("warning", "another directory")
        #expect(agent.said("warning", "another directory").count == 1)
        try await agent.stop()

        try FileManager.default.removeItem(atPath: agent.outbox)
        try Files.rename(first, to: agent.outbox)
        server.setFaults { _, _ in nil }
        try await agent.start()
        try await agent.reached("trip/a.jpg", .done)
        expectClean(server, finished: [key])
        #expect(server.count(.delete) == 0)
    }

    @Test("and is configured elsewhere together with another server shows its files as waiting, and names it")
    func configuredElsewhere() async throws {
        let (_, agent, key) = try await start()
        let server = try FaultServer()
        let first = agent.outbox
        try await agent.stop()
        let other = agent.directory.path("other")
        try Files.makeDirectory(other)
        try agent.configure(["outbox": .string(other), "remote.url": .string(server.url)])
        try await agent.start()
        try await Poll.until("the former outbox to be named") {
            try await agentProblems(agent).contains { $0.contains("1 file belongs to the former outbox \(first)") }
        }
        let status = try await Program.run(
            "outbox", ["status", "--json", "--config", agent.config], environment: agent.environment,
            directory: agent.directory.path
        ).standardOutput
        #expect(status.contains("\"file_missing\"") && !status.contains("\"state\":\"settling\""), "\(status)")

        try await agent.stop()
        try agent.configure(["outbox": .string(first)])
        try await agent.start()
        try await agent.reached("trip/a.jpg", .done)
        #expect(try await agentProblems(agent).isEmpty)
        expectClean(server, finished: [key])
    }

    @Test(
        "because it is unmounted cancels nothing, uploads nothing from the mount point, and resumes when mounted",
        .enabled(if: Unshare.mayMount, "\(Unshare.why)"))
    func unmounted() async throws {
        let server = try FaultServer(faults: { _, _ in .status(503) })
        let keep = try TemporaryDirectory(prefix: "outbox-card")
        let mount = #"mount --bind "\#(keep.path)" "$O""#
        let mounted = try MountedAgent(
            remote: server.url, ["intake.rescan": "1s"], mount: #"mount -t tmpfs none "\#(keep.path)" && \#(mount)"#)
        let agent = mounted.agent
        try await agent.start()
        try Files.makeDirectory(mounted.path("trip"))
        let picture = SampleMedia.jpeg.bytes(size: 600_000, seed: 1)
        try Files.write(picture, to: mounted.path("trip/a.jpg"))
        try await Poll.until("the file to wait", lastState: { agent.log }) {
            try mounted.sidecar("trip/a.jpg")?.state == .waiting
        }

        try Files.write(picture, to: mounted.path("top.jpg"))
        try await Poll.until("the second path to wait", lastState: { agent.log }) {
            try mounted.sidecar("top.jpg")?.state == .waiting
        }

        try await mounted.change(#"umount -l "$O""#)
        #expect(try await agent.command("pause", "top.jpg").code == 0)
        try await expectNothingCancelled(server, agent)
        #expect(try await agent.command("resume", "top.jpg").code == 0)
        #expect(try await agent.command("pause", "--all").code == 0)
        #expect(Files.tree(agent.outbox) == [], "in the mount point")
        #expect(try await agent.command("resume", "--all").code == 0)
        server.setFaults { _, _ in nil }
        try agent.drop("below.jpg", .jpeg, size: 2000)
        #expect(try await agent.isStillUnderWay("trip/a.jpg"))
        #expect(try agent.sidecar("below.jpg") == nil)

        try await mounted.change(mount)
        try await Poll.until("the file to be done", lastState: { agent.log }) {
            try mounted.sidecar("trip/a.jpg")?.state == .done
        }
        expectClean(server, finished: [Digest.md5(picture)])
    }
}

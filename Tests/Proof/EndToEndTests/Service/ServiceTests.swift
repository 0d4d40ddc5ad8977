import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("The systemd service", .agents)
struct ServiceTests {
    private static let nowhere = "http://127.0.0.1:1"

    /// Returns an agent with a service manager that records its notifications.
    private func supervised(watchdog: String? = nil) throws -> (agent: Agent, listener: NotifyListener) {
        let listener = try NotifyListener(at: "@outbox-e2e-\(UUID().uuidString)")
        var environment = ["NOTIFY_SOCKET": listener.address]
        environment["WATCHDOG_USEC"] = watchdog
        return (try Agent(remote: Self.nowhere, environment: environment), listener)
    }

    @Test("the agent notifies the service manager of start, status, reload and stop")
    func notifications() async throws {
        let (agent, listener) = try supervised()
        try agent.launch()
        let ready = try await listener.wait(for: "READY=1")
        #expect(agent.isAnswering, "ready means that it answers")
        try await listener.wait(for: "STATUS=")

        agent.program?.kill(SIGHUP)
        let reloading = try await listener.wait(for: "RELOADING=1", after: ready)
        #expect(listener.messages[reloading - 1].contains("MONOTONIC_USEC="))
        try await listener.wait(for: "READY=1", after: reloading)

        #expect(try await agent.stop() == .exited(0))
        try await listener.wait(for: "STOPPING=1")
    }

    @Test("the agent keeps notifying the watchdog")
    func watchdog() async throws {
        let (agent, listener) = try supervised(watchdog: "400000")
        try agent.launch()
        var seen = try await listener.wait(for: "READY=1")
        for _ in 0..<3 { seen = try await listener.wait(for: "WATCHDOG=1", after: seen) }
        try await agent.stop()
    }

    @Test("the status contains the number of waiting files")
    func status() async throws {
        let (agent, listener) = try supervised()
        try agent.launch()
        let ready = try await listener.wait(for: "READY=1")
        try agent.drop("sea.jpg", .jpeg, size: 5000)
        try await Poll.until("a status with the file", lastState: { "\(listener.messages)" }) {
            listener.receive().dropFirst(ready).contains { $0.contains("1 waiting") }
        }
        try await agent.stop()
    }

    @Test("install beside an agent that was started by hand says which process is in the way")
    func besideAgent() async throws {
        let agent = try Agent(remote: Self.nowhere)
        try await agent.start()
        let pid = try #require(agent.program?.pid)
        let output = try await agent.command("service", "install")
        #expect(output.code == 75 && output.standardError.contains("kill \(pid)"), "\(output)")
        let dryRun = try await agent.command("service", "install", "--dry-run")
        #expect(dryRun.code == 0, "\(dryRun)")
    }

    @Test("install --dry-run prints a unit for this configuration, and systemd accepts the unit")
    func dryRun() async throws {
        let agent = try Agent(remote: Self.nowhere)
        let output = try await agent.command("service", "install", "--dry-run")
        #expect(output.code == 0)
        let unit = output.standardOutput
        for expected in [
            "Type=notify", "NoNewPrivileges=yes", "ProtectSystem=strict", "ReadWritePaths=-\(agent.outbox)\n",
            "ReadWritePaths=-\(agent.state)\n", "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
            "WatchdogSec=", "/outbox run --config \(agent.config)\n",
        ] {
            #expect(unit.contains(expected), "\(expected)")
        }
        #expect(!FileManager.default.fileExists(atPath: agent.directory.path(".config")), "nothing is written")

        let analyze = "/usr/bin/systemd-analyze"
        guard FileManager.default.isExecutableFile(atPath: analyze) else {
            print("skipped: systemd-analyze is not installed, so systemd was not asked about the unit")
            return
        }
        let path = agent.directory.path("outbox.service")
        try unit.write(toFile: path, atomically: true, encoding: .utf8)
        let verdict = try await Program.run(
            analyze, ["verify", "--user", "--man=no", path],
            environment: [
                "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": agent.directory.path, "HOME": agent.directory.path,
            ],
            directory: agent.directory.path)
        #expect(verdict.code == 0 && verdict.standardError.isEmpty, "\(verdict.standardError)")
    }

    /// Creates a directory with a `systemctl` that records its arguments and runs the script.
    private func systemctl(_ agent: Agent, _ script: String) throws -> String {
        let directory = agent.directory.path("bin")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let text = "#!/bin/sh\necho \"$*\" >> '\(directory)/calls'\n\(script)\n"
        try text.write(toFile: directory + "/systemctl", atomically: true, encoding: .utf8)
        chmod(directory + "/systemctl", 0o755)
        return directory
    }

    private func run(_ agent: Agent, _ arguments: [String], path: String) async throws -> Program.Output {
        try await Program.run(
            "outbox", ["service"] + arguments + ["--config", agent.config],
            environment: ["PATH": path + ":/usr/bin:/bin", "HOME": agent.directory.path],
            directory: agent.directory.path)
    }

    @Test("install, status and uninstall call systemctl, and uninstall removes the unit")
    func wholeLife() async throws {
        let agent = try Agent(remote: Self.nowhere)
        let path = try systemctl(agent, "case \"$2\" in show) echo ActiveState=active; echo SubState=running;; esac")

        let installed = try await run(agent, ["install", "--json"], path: path)
        #expect(installed.code == 0, "\(installed.standardError)")
        struct Answer: Decodable {
            var unit: String
            var path: String
            var running: Bool
        }
        let answer = try JSONDecoder().decode(Answer.self, from: Data(installed.standardOutput.utf8))
        #expect(answer.running)
        #expect(answer.path == agent.directory.path(".config/systemd/user/") + answer.unit)
        #expect(FileManager.default.fileExists(atPath: answer.path))

        let status = try await run(agent, ["status"], path: path)
        #expect(status.code == 0)
        #expect(status.standardOutput.contains("active (running)"))

        let removed = try await run(agent, ["uninstall"], path: path)
        #expect(removed.code == 0)
        #expect(!FileManager.default.fileExists(atPath: answer.path))
        let calls = try String(contentsOfFile: path + "/calls", encoding: .utf8)
        for call in ["--user enable \(answer.unit)", "--user disable --now \(answer.unit)"] {
            #expect(calls.contains(call), "\(calls)")
        }
        #expect(try await run(agent, ["status"], path: path).code == 1)
        #expect(try await run(agent, ["uninstall"], path: path).code == 66)
    }

    @Test("without a service manager, install writes the unit, exits with 69 and says what to do next")
    func noManager() async throws {
        let agent = try Agent(remote: Self.nowhere)
        let path = try systemctl(agent, "echo 'Failed to connect to bus: No medium found' >&2; exit 1")
        let output = try await run(agent, ["install"], path: path)
        #expect(output.code == 69)
        #expect(output.standardError.contains("No medium found"))
        #expect(output.standardError.contains("systemctl --user daemon-reload"))
        let units = agent.directory.path(".config/systemd/user")
        #expect(try FileManager.default.contentsOfDirectory(atPath: units).count == 1)
    }

    @Test("a system unit needs a user who exists and is not root", arguments: ["root", "no-such-user", ""])
    func refusedUsers(user: String) async throws {
        let agent = try Agent(remote: Self.nowhere)
        let arguments = ["install", "--system", "--dry-run"] + (user.isEmpty ? [] : ["--user", user])
        let output = try await run(agent, arguments, path: "/bin")
        #expect(output.code == 64)
        #expect(output.standardError.contains("--user"))
        #expect(output.standardOutput.isEmpty)
    }
}

@testable import LinuxSystem
import Foundation
import Processes
import Synchronization
import TestSupport
import Testing

@testable import AgentConfiguration
@testable import SystemdService

@Suite("Installing the service")
struct ServiceInstallerTests {
    private let directory: TemporaryDirectory
    private let systemctl = ScriptedSystemctl()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var units: String { directory.path("config/systemd/user") }
    private var path: String { units + "/outbox.service" }

    private var installer: ServiceInstaller {
        ServiceInstaller(
            name: "outbox", scope: .user, directory: units, runner: systemctl,
            lingerDirectory: directory.path("linger"))
    }

    private func unit(settle: String = "outbox") throws -> ServiceUnit {
        var configuration = Configuration(home: directory.path("home"))
        configuration.outbox = directory.path(settle)
        return try ServiceUnit(
            name: "outbox", program: Array("/usr/bin/outbox".utf8), file: nil, configuration: configuration,
            scope: .user)
    }

    private func isThere(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    @Test("writes the unit and the directories, enables and starts")
    func install() throws {
        let unit = try unit()
        let done = try installer.install(unit)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == unit.text)
        #expect(done.hasChanged && done.pending == nil)
        #expect(
            systemctl.commands == [
                "systemctl --user daemon-reload", "systemctl --user enable outbox.service",
                "systemctl --user restart outbox.service",
            ])
        for path in unit.directories { #expect(isThere(path)) }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: units) == ["outbox.service"], "nothing is left over")
    }

    @Test("the installer asks the service manager whether it can confine a service")
    func confinement() throws {
        #expect(installer.canConfine())
        let probe = try #require(systemctl.commands.last)
        for setting in ServiceUnit.confinement { #expect(probe.contains("--property=\(setting) ")) }
        systemctl.answers = ["systemd-run": CommandOutcome(status: 218, output: "")]
        #expect(!installer.canConfine())
    }

    @Test("a second installation changes nothing, and does not interrupt a running agent")
    func again() throws {
        _ = try installer.install(try unit())
        systemctl.forget()
        #expect(try !installer.install(try unit()).hasChanged)
        #expect(systemctl.commands.last == "systemctl --user start outbox.service")
    }

    @Test("another configuration replaces the unit and restarts the agent")
    func update() throws {
        _ = try installer.install(try unit())
        systemctl.forget()
        #expect(try installer.install(try unit(settle: "elsewhere")).hasChanged)
        #expect(systemctl.commands.last == "systemctl --user restart outbox.service")
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("elsewhere"))
    }

    @Test("a foreign unit file is left alone", arguments: [false, true])
    func foreign(isLink: Bool) throws {
        try FileManager.default.createDirectory(atPath: units, withIntermediateDirectories: true)
        let target = directory.path("mine")
        let content = isLink ? try unit().text : "[Service]\nExecStart=/bin/true\n"
        try content.write(toFile: isLink ? target : path, atomically: false, encoding: .utf8)
        if isLink { try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target) }

        #expect(throws: ServiceError.foreign(path: path)) { try installer.install(try unit()) }
        #expect(throws: ServiceError.foreign(path: path)) { try installer.uninstall() }

        #expect(try String(contentsOfFile: path, encoding: .utf8) == content)
        #expect(systemctl.commands.isEmpty)
    }

    @Test("without a service manager, the unit is written and the remaining steps are printed")
    func noManager() throws {
        systemctl.answers = ["daemon-reload": CommandOutcome(status: 1, output: "Failed to connect to bus\nmore")]
        let done = try installer.install(try unit())
        #expect(isThere(path))
        let pending = try #require(done.pending)
        #expect(pending.contains("Failed to connect to bus"))
        #expect(pending.contains("systemctl --user enable --now outbox"))
        #expect(!pending.contains("\n"))
    }

    @Test("a failed start is an error that names the place to look")
    func failingStart() throws {
        systemctl.answers = ["restart": CommandOutcome(status: 1, output: "Job for outbox.service failed.\n")]
        let error = #expect(throws: ServiceError.self) { try installer.install(try unit()) }
        #expect("\(try #require(error))".contains("journalctl --user -u outbox"))
    }

    @Test("warns that the service needs a login, unless the user lingers")
    func linger() throws {
        #expect(try installer.install(try unit()).notes.contains { $0.contains("loginctl enable-linger") })
        let account = try #require(ServiceAccount(userID: getuid()))
        try FileManager.default.createDirectory(
            atPath: directory.path("linger/\(account.name)"), withIntermediateDirectories: true)
        #expect(try !installer.install(try unit()).notes.contains { $0.contains("linger") })
    }

    @Test("a directory that can't be created is reported, and the installation continues")
    func directories() throws {
        try "".write(toFile: directory.path("file"), atomically: true, encoding: .utf8)
        let done = try installer.install(try unit(settle: "file/outbox"))
        #expect(done.notes.contains { $0.contains("file/outbox") })
        #expect(done.pending == nil)
    }

    @Test("is undone by uninstalling, except for the user's files")
    func uninstall() throws {
        let unit = try unit()
        _ = try installer.install(unit)
        let wants = units + "/default.target.wants"
        try FileManager.default.createDirectory(atPath: wants, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: wants + "/outbox.service", withDestinationPath: path)
        systemctl.forget()
        #expect(try installer.uninstall().isEmpty)
        #expect(!isThere(path))
        #expect(try FileManager.default.contentsOfDirectory(atPath: wants).isEmpty)
        #expect(
            systemctl.commands == [
                "systemctl --user daemon-reload", "systemctl --user disable --now outbox.service",
                "systemctl --user daemon-reload",
            ])
        for path in unit.directories { #expect(isThere(path)) }
        #expect(throws: ServiceError.notInstalled(path: path)) { try installer.uninstall() }
    }

    @Test("a service that can't be stopped keeps its unit")
    func stubborn() throws {
        _ = try installer.install(try unit())
        systemctl.answers = ["disable": CommandOutcome(status: 1, output: "no")]
        #expect(throws: ServiceError.self) { try installer.uninstall() }
        #expect(isThere(path))
    }

    @Test("the status combines the unit file and the service manager's answers")
    func status() throws {
        _ = try installer.install(try unit())
        let shown = """
            UnitFileState=enabled
            ActiveState=active
            SubState=running
            MainPID=4711
            StatusText=3 uploading; a=b
            NRestarts=2
            Result=success
            """
        systemctl.answers = ["show": CommandOutcome(status: 0, output: shown)]
        let status = try installer.status()
        #expect(status.installed && status.isRunning)
        #expect(status.active == "active (running)")
        #expect(status.pid == 4711)
        #expect(status.status == "3 uploading; a=b")
        #expect(status.restarts == 2)
        #expect(status.lines.contains { $0.contains("journalctl --user -u outbox") })
    }

    @Test("without a unit of the user's own, the status is that of a package's unit")
    func packaged() throws {
        let fragment = "/usr/lib/systemd/user/outbox.service"
        let shown = "FragmentPath=\(fragment)\nUnitFileState=enabled\nActiveState=active\nSubState=running\n"
        systemctl.answers = ["show": CommandOutcome(status: 0, output: shown)]
        let status = try installer.status()
        #expect(status.isRunning && status.path == fragment)
        #expect(throws: ServiceError.self, "the package removes its unit") { try installer.uninstall() }
    }

    @Test(
        "a failed service shows the cause, also while waiting for a restart",
        arguments: [
            ("failed\nSubState=failed\nResult=watchdog", "failed (watchdog)"),
            ("activating\nSubState=auto-restart\nResult=exit-code", "activating (exit-code)"),
            ("activating\nSubState=start\nResult=success", "activating (start)"),
        ])
    func failed(state: String, shown: String) throws {
        systemctl.answers = ["show": CommandOutcome(status: 0, output: "ActiveState=\(state)\nMainPID=0\n")]
        let status = try installer.status()
        #expect(!status.installed && !status.isRunning)
        #expect(status.active == shown)
        #expect(status.pid == nil)
    }
}

/// Records the commands, and gives the outcome set for a word of the command, or success.
final class ScriptedSystemctl: CommandRunner {
    private struct State {
        var commands: [String] = []
        var answers: [String: CommandOutcome] = [:]
    }
    private let state = Mutex(State())

    var commands: [String] { state.withLock(\.commands) }
    var answers: [String: CommandOutcome] {
        get { state.withLock(\.answers) }
        set { state.withLock { $0.answers = newValue } }
    }
    func forget() { state.withLock { $0.commands = [] } }

    func run(_ command: [String]) -> CommandOutcome? {
        state.withLock { state in
            state.commands.append(command.joined(separator: " "))
            let answers = state.answers
            return command.compactMap { answers[$0] }.first ?? CommandOutcome(status: 0, output: "")
        }
    }
}

import Text
import Glibc
import LinuxSystem
package import Processes
import SystemPackage

/// Installs, removes and queries the service of one configuration.
package struct ServiceInstaller {
    /// The result of an installation.
    package struct Installation: Equatable, Sendable {
        /// Path of the unit file.
        package var path: String
        /// Whether the unit file changed.
        package var hasChanged: Bool
        /// Notes for the user, one line each.
        package var notes: [String]
        /// Why the service does not run yet, and the remaining steps; nil if the service runs.
        package var pending: String?
    }

    private let name: String
    private let scope: ServiceScope
    private let file: UnitFile
    private let runner: any CommandRunner
    private let lingerDirectory: String

    /// - Parameters:
    ///   - name: The unit's name, see ``ServiceName``.
    ///   - scope: The service manager to use.
    ///   - directory: The directory of the scope's units.
    ///   - runner: Runs `systemctl`.
    ///   - lingerDirectory: The directory where logind records users with lingering enabled.
    package init(
        name: String, scope: ServiceScope, directory: String, runner: any CommandRunner,
        lingerDirectory: String = "/var/lib/systemd/linger"
    ) {
        self.name = name
        self.scope = scope
        file = UnitFile(directory: directory, name: name + ".service")
        self.runner = runner
        self.lingerDirectory = lingerDirectory
    }

    /// The command that shows the service's log.
    package var logCommand: String { scope == .user ? "journalctl --user -u \(name)" : "journalctl -u \(name)" }

    /// Whether the service manager supports all settings in ``ServiceUnit/confinement``.
    ///
    /// Support depends on systemd's version, the kernel and the distribution. This function asks the user's service
    /// manager to run a program with these settings. Returns false if the service manager can't be asked.
    package func canConfine() -> Bool {
        guard scope == .user else { return true }
        let settings = (["ProtectSystem=strict", "PrivateTmp=yes"] + ServiceUnit.confinement).map { "--property=" + $0 }
        let probe = ["systemd-run", "--user", "--quiet", "--wait", "--collect"] + settings + ["/bin/true"]
        return runner.run(probe)?.status == 0
    }

    /// Writes the unit, enables the service and starts it. Restarts a running service if the unit changed.
    ///
    /// - Throws: `ServiceError`. An unreachable service manager is no error; see `Installation.pending`.
    package func install(_ unit: ServiceUnit) throws(ServiceError) -> Installation {
        let hasChanged = try file.write(unit.text)
        var done = Installation(
            path: file.path, hasChanged: hasChanged, notes: makeDirectories(unit.directories), pending: nil)
        if let reason = managerObjection() {
            let rest = "\(systemctl) daemon-reload && \(systemctl) enable --now \(name)"
            done.pending =
                "\(file.path) is written, but the service manager can't be reached (\(reason)); to start: \(rest)"
        } else {
            try control(["enable", file.name])
            try control([hasChanged ? "restart" : "start", file.name])
        }
        if let note = lingerNote { done.notes.append(note) }
        return done
    }

    /// Stops and disables the service and removes its unit.
    ///
    /// - Returns: Notes for the user, one line each.
    /// - Throws: `ServiceError`.
    package func uninstall() throws(ServiceError) -> [String] {
        switch try file.look() {
        case .nothing: throw .notInstalled(path: file.path)
        case .foreign: throw .foreign(path: file.path)
        case .ours: break
        }
        let objection = managerObjection()
        if objection == nil { try control(["disable", "--now", file.name]) }
        try file.remove(target: scope == .user ? "default.target" : "multi-user.target")
        if let objection {
            return [
                "the service manager can't be reached (\(objection)); a running agent continues until it is stopped"
            ]
        }
        try control(["daemon-reload"])
        return []
    }

    /// Returns the service's status.
    package func status() throws(ServiceError) -> ServiceStatus {
        var status = ServiceStatus(unit: file.name, path: file.path, scope: scope == .user ? "user" : "system")
        status.log = logCommand
        status.linger = lingers
        switch try file.look() {
        case .nothing: break
        case .ours: status.installed = true
        case .foreign: status.problem = ServiceError.foreign(path: file.path).description
        }
        let properties = "FragmentPath,UnitFileState,ActiveState,SubState,MainPID,StatusText,NRestarts,Result"
        guard let shown = runner.run(manager + ["show", file.name, "--property=" + properties]) else {
            status.problem = status.problem ?? "systemctl is not installed"
            return status
        }
        guard shown.status == 0 else {
            status.problem = status.problem ?? shown.firstLine
            return status
        }
        status.take(shown.output)
        return status
    }

    // MARK: The service manager

    private var manager: [String] { scope == .user ? ["systemctl", "--user"] : ["systemctl"] }
    private var systemctl: String { manager.joined(separator: " ") }

    /// Reloads the service manager's units. Returns the reason if that fails.
    private func managerObjection() -> String? {
        guard let outcome = runner.run(manager + ["daemon-reload"]) else { return "systemctl is not installed" }
        return outcome.status == 0 ? nil : outcome.firstLine
    }

    private func control(_ arguments: [String]) throws(ServiceError) {
        let command = manager + arguments
        let outcome = runner.run(command) ?? CommandOutcome(status: 127, output: "systemctl is not installed")
        guard outcome.status == 0 else {
            throw .refused(
                command: command.joined(separator: " "), reason: outcome.firstLine + "; see `\(logCommand) -n 50`")
        }
    }

    // MARK: Users

    private var account: ServiceAccount? {
        if case .system(let account) = scope { return account }
        return ServiceAccount(userID: getuid())
    }

    /// Whether the user's services run without a login; nil for system units, which always run.
    private var lingers: Bool? {
        guard scope == .user, let account else { return nil }
        return (try? FileStatus(path: lingerDirectory + "/" + account.name)) != nil
    }

    private var lingerNote: String? {
        guard lingers == false, let account else { return nil }
        return "the service runs only while \(account.name) is logged in; to run it from boot on: "
            + "sudo loginctl enable-linger \(account.name)"
    }

    /// Creates directories that the agent can't create later, because its file system is read-only. Creates them as
    /// the service's user, so that the user owns them and no directory appears where the user lacks permission.
    private func makeDirectories(_ paths: [String]) -> [String] {
        guard case .system(let account) = scope else { return Self.makeDirectories(paths) }
        guard setegid(account.groupID) == 0, seteuid(account.userID) == 0 else {
            return ["the directories could not be created as \(account.name): \(Errno(rawValue: errno))"]
        }
        defer {
            _ = seteuid(getuid())
            _ = setegid(getgid())
        }
        return Self.makeDirectories(paths)
    }

    private static func makeDirectories(_ paths: [String]) -> [String] {
        paths.compactMap { path in
            if (try? FileStatus(path: path)) != nil { return nil }
            do {
                try Directory.create(path)
                return nil
            } catch {
                return "\(path) could not be created (\(error)); create it before the service starts"
            }
        }
    }
}

extension CommandOutcome {
    /// The program's first output line; without output, its status.
    var firstLine: String {
        let line = output.split(separator: "\n").first.map { DisplayText.escaped(String($0)) }
        return line ?? "status \(status)"
    }
}

import AgentConfiguration
import LinuxSystem
import Text
import ArgumentParser
import SystemdService

struct ServiceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service",
        abstract: "Run the agent as a systemd service.",
        discussion: """
            Each configuration file has a service of its own, named after it: `outbox` for the file in its usual \
            place, otherwise `outbox-NAME-…`. /usr/share/doc/outbox/service.md describes the details.
            """,
        subcommands: [ServiceInstallCommand.self, ServiceUninstallCommand.self, ServiceStatusCommand.self])
}

struct ServiceInstallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "install",
        abstract: "Write the unit, enable the service and start it.",
        discussion: """
            Without --system this installs a user unit. Installing again updates the unit, and restarts the service if \
            the unit changed. If systemd can't be reached, the command still writes the unit, prints what is left to \
            do and exits with status 69.

            Examples:
              outbox service install
              outbox service install --config ~/camera.toml
              sudo outbox service install --system --user ann --config /srv/agent.toml
              outbox service install --dry-run
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var options: ServiceOptions

    @Flag(name: [.customLong("dry-run"), .customLong("print")], help: "Print the unit and change nothing.")
    var dryRun = false

    func run() throws {
        let place = try ServicePlace(common, options)
        let effective = try place.load()
        let program = try place.program()
        let name = place.name(of: effective.file)
        let installer = place.installer(named: name)
        let unit = try ServiceUnit(
            name: name, program: program, file: effective.file, configuration: effective.configuration,
            scope: place.scope, runtimeDirectory: place.runtimeDirectory, isConfined: installer.canConfine())
        if dryRun {
            if options.json {
                return try Output.standard.write(
                    json: DryRun(unit: unit.name + ".service", path: place.path(of: unit.name), text: unit.text))
            }
            return try Output.standard.write(unit.text)
        }
        try place.checkRights()
        try refuseBesideAgent(of: effective.configuration, unit)
        var done = try installer.install(unit)
        done.notes = place.notes(program: program, warnings: effective.notices) + done.notes
        try report(
            done, unit: unit, running: ProgramDescription(program: program, effective), log: installer.logCommand)
        if let pending = done.pending { throw ServiceError.unavailable(pending) }
    }

    /// An agent that was started otherwise holds the state directory, so the service could not start.
    private func refuseBesideAgent(of configuration: Configuration, _ unit: ServiceUnit) throws {
        guard let pid = AgentProcess.holder(ofState: configuration.state) else { return }
        let cgroup = ProcFile.text("/proc/\(pid)/cgroup") ?? ""
        guard AgentProcess.unit(inCgroup: cgroup) != unit.name else { return }
        throw CommandFailure.tryAgain(
            "service install: an agent that is not this service already works in "
                + "\(DisplayText.escaped(configuration.state)) (pid \(pid)); end it with `kill \(pid)`, then install again"
        )
    }

    private func report(
        _ done: ServiceInstaller.Installation, unit: ServiceUnit, running: ProgramDescription, log: String
    ) throws {
        if options.json {
            return try Output.standard.write(
                json: Installed(
                    unit: unit.name + ".service", path: done.path, changed: done.hasChanged,
                    running: done.pending == nil, notes: done.notes, log: log, program: running.program,
                    configuration: running.configuration))
        }
        for note in done.notes { Output.error.attempt("outbox: note: \(note)") }
        guard done.pending == nil else { return }
        try Output.standard.write(lines: [
            "\(unit.name).service runs\(done.hasChanged ? "" : ", unchanged") (\(DisplayText.escaped(done.path)))",
            "it runs: \(running.text)",
            "its log: \(log)",
        ])
    }

    /// What the service runs, for display.
    private struct ProgramDescription {
        let program: String
        let configuration: String?
        let text: String

        init(program: [UInt8], _ effective: EffectiveConfiguration) {
            self.program = String(decoding: program, as: UTF8.self)
            configuration = effective.file
            let (outbox, url) = (effective.configuration.outbox, effective.configuration.remote.url)
            let file = effective.file.map { "with \(DisplayText.escaped($0))" } ?? "without a configuration file"
            text =
                "\(DisplayText.escaped(self.program)) \(file): \(DisplayText.escaped(outbox)) to \(DisplayText.escaped(url))"
        }
    }

    private struct DryRun: Encodable {
        var unit: String
        var path: String
        var text: String
    }

    private struct Installed: Encodable {
        var unit: String
        var path: String
        var changed: Bool
        var running: Bool
        var notes: [String]
        var log: String
        var program: String
        var configuration: String?
    }
}

struct ServiceUninstallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "uninstall",
        abstract: "Stop the service, disable it and remove its unit.",
        discussion: """
            Removes only a unit that `outbox service install` wrote. The outbox, sidecars, state directory and \
            configuration stay.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var options: ServiceOptions

    func run() throws {
        let place = try ServicePlace(common, options)
        try place.checkRights()
        let name = place.name(of: try place.file())
        let notes = try place.installer(named: name).uninstall()
        if options.json {
            return try Output.standard.write(
                json: Removed(unit: name + ".service", path: place.path(of: name), notes: notes))
        }
        for note in notes { Output.error.attempt("outbox: note: \(note)") }
        try Output.standard.write(lines: ["\(name).service is removed (\(DisplayText.escaped(place.path(of: name))))"])
    }

    private struct Removed: Encodable {
        var unit: String
        var path: String
        var notes: [String]
    }
}

struct ServiceStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state of the service.",
        discussion: "Exit status: 0 if the agent runs as a service, otherwise 1.")

    @OptionGroup var common: CommonOptions
    @OptionGroup var options: ServiceOptions

    func run() throws {
        let place = try ServicePlace(common, options)
        let status = try place.installer(named: place.name(of: try place.file())).status()
        if options.json {
            try Output.standard.write(json: status)
        } else {
            try Output.standard.write(lines: status.lines)
        }
        if !status.isRunning { throw CommandFailure.answerIsNo }
    }
}

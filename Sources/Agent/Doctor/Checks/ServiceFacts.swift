import Console

/// The services that start the agent automatically.
struct ServiceFacts: Equatable, Sendable {
    enum Scope: Equatable, Sendable {
        /// One user's service: started at login, or at boot if the user lingers.
        case user
        case system

        var command: String { self == .user ? "systemctl --user" : "sudo systemctl" }
    }

    /// A unit whose command is `outbox run` with this configuration.
    struct Unit: Equatable, Sendable {
        var name: String
        var scope: Scope
        var isEnabled: Bool
    }

    /// Whether systemd runs this machine (man 3 sd_booted).
    var hasSystemd: Bool
    var units: [Unit]
    /// The unit of the running agent; nil if none runs or it was started by hand.
    var runningUnit: String?
    var isRunning: Bool
    /// Whether the user's services run without a login; nil if the user's name is unknown.
    var isLingering: Bool?
    var userName: String
    /// The configuration's file, if it must be named; nil for one in a usual place.
    var configuration: String?

    var findings: [Finding] {
        guard hasSystemd else {
            return [
                Finding(
                    .service, .note, "systemd does not run here, so nothing starts the agent by itself",
                    remedy: "start `outbox run` with the tool that starts other programs here")
            ]
        }
        guard !units.isEmpty else {
            return [
                Finding(
                    .service, .note, "no service for this configuration; the agent does not start by itself",
                    remedy: "outbox service install" + (configuration.map { " --config " + ShellWord.text($0) } ?? ""))
            ]
        }
        return units.map(service) + (units.contains { $0.scope == .user } ? linger : [])
    }

    private func service(_ unit: Unit) -> Finding {
        let control = unit.scope.command
        guard unit.isEnabled else {
            return Finding(
                .service, .warning, "\(unit.name) is installed but not enabled: it does not start by itself",
                remedy: "\(control) enable --now \(unit.name)")
        }
        if runningUnit == unit.name { return Finding(.service, .ok, "\(unit.name) is enabled and runs") }
        guard !isRunning else {
            return Finding(
                .service, .note, "\(unit.name) is enabled, but did not start the running agent",
                remedy: "end that agent, then \(control) start \(unit.name)")
        }
        return Finding(
            .service, .warning, "\(unit.name) is enabled but does not run",
            remedy:
                "\(control) start \(unit.name); `journalctl \(unit.scope == .user ? "--user " : "")-u \(unit.name)` shows why it ended"
        )
    }

    private var linger: [Finding] {
        switch isLingering {
        case nil: []
        case true?: [Finding(.linger, .ok, "services of \(userName) run without a login")]
        case false?:
            [
                Finding(
                    .linger, .warning, "the service ends when \(userName) logs out, and does not start at boot",
                    remedy: "sudo loginctl enable-linger \(userName)")
            ]
        }
    }
}

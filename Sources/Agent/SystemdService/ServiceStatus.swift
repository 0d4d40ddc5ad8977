import Text

/// The status of a service.
package struct ServiceStatus: Equatable, Sendable, Encodable {
    /// `NAME.service`.
    var unit: String
    /// Path of the unit file.
    var path: String
    /// `user` or `system`.
    var scope: String
    /// Whether the unit file exists, and was written by `outbox service install` or came with a package.
    var installed = false
    /// systemd's word: `enabled`, `disabled`, …; nil if systemd can't be asked.
    var enabled: String?
    /// systemd's words: `active (running)`, `failed (watchdog)`, …; nil if systemd can't be asked.
    var active: String?
    /// Process id of the agent; nil if it does not run.
    var pid: Int32?
    /// The agent's own status line.
    var status: String?
    /// Number of restarts since the service was installed or reset.
    var restarts: Int?
    /// Whether the user's services run without a login; nil for system units.
    var linger: Bool?
    /// The command that shows the log.
    var log = ""
    /// Why some of the values are unknown.
    var problem: String?

    init(unit: String, path: String, scope: String) {
        self.unit = unit
        self.path = path
        self.scope = scope
    }

    /// Whether the agent runs as this service.
    package var isRunning: Bool {
        installed && (active?.hasPrefix("active") == true || active?.hasPrefix("reloading") == true)
    }

    /// Reads the output of `systemctl show`: lines of `Name=value`.
    mutating func take(_ properties: String) {
        var values: [Substring: String] = [:]
        for line in properties.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, !parts[1].isEmpty { values[parts[0]] = String(parts[1]) }
        }
        // Without a unit of the user's own, the one of a package has the name.
        if !installed, problem == nil, let fragment = values["FragmentPath"] {
            path = fragment
            installed = true
        }
        enabled = values["UnitFileState"]
        active = values["ActiveState"].map { state in
            // While the service waits for its restart, the reason why it ended is more useful than the waiting state.
            let isDown = state == "failed" || state == "activating" && values["Result"] != "success"
            let detail = isDown ? values["Result"] ?? values["SubState"] : values["SubState"]
            return detail.map { "\(state) (\($0))" } ?? state
        }
        pid = values["MainPID"].flatMap { Int32($0) }.flatMap { $0 > 0 ? $0 : nil }
        status = values["StatusText"]
        restarts = values["NRestarts"].flatMap { Int($0) }
    }

    /// The status for display, one line each.
    package var lines: [String] {
        var lines = ["\(unit): " + (installed ? active ?? "installed" : "not installed")]
        lines.append("  unit      \(path)" + (enabled.map { " (\($0))" } ?? ""))
        if let pid { lines.append("  pid       \(pid)") }
        if let status { lines.append("  status    \(status)") }
        if let restarts, restarts > 0 { lines.append("  restarts  \(restarts)") }
        if let linger {
            lines.append("  linger    " + (linger ? "yes" : "no: it runs only while you are logged in"))
        }
        lines.append("  log       \(log)")
        if let problem { lines.append("  problem   \(problem)") }
        return lines.map(DisplayText.escaped)
    }
}

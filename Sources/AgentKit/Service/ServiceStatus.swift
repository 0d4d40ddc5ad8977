/// How a service is.
public struct ServiceStatus: Equatable, Sendable, Encodable {
    /// `NAME.service`.
    public var unit: String
    /// The unit's file.
    public var path: String
    /// `user` or `system`.
    public var scope: String
    /// Whether the file is there and was written by `outbox service install`.
    public var installed = false
    /// systemd's word: `enabled`, `disabled`, …; nil when it can't be asked.
    public var enabled: String?
    /// systemd's words: `active (running)`, `failed (watchdog)`, …; nil when it can't be asked.
    public var active: String?
    /// The agent's process; nil while there is none.
    public var pid: Int32?
    /// What the agent says of itself.
    public var status: String?
    /// How often it was started again since it was installed or reset.
    public var restarts: Int?
    /// Whether the user's services run without a login; nil for system units.
    public var linger: Bool?
    /// The command that shows the log.
    public var log = ""
    /// What keeps the rest from being known.
    public var problem: String?

    init(unit: String, path: String, scope: String) {
        self.unit = unit
        self.path = path
        self.scope = scope
    }

    /// Whether the agent runs as this service.
    public var isRunning: Bool {
        installed && (active?.hasPrefix("active") == true || active?.hasPrefix("reloading") == true)
    }

    /// Takes the output of `systemctl show` over: lines of `Name=value`.
    mutating func take(_ properties: String) {
        var values: [Substring: String] = [:]
        for line in properties.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, !parts[1].isEmpty { values[parts[0]] = String(parts[1]) }
        }
        enabled = values["UnitFileState"]
        active = values["ActiveState"].map { state in
            // While it waits to be started again, why it ended says more than that it waits.
            let isDown = state == "failed" || state == "activating" && values["Result"] != "success"
            let detail = isDown ? values["Result"] ?? values["SubState"] : values["SubState"]
            return detail.map { "\(state) (\($0))" } ?? state
        }
        pid = values["MainPID"].flatMap { Int32($0) }.flatMap { $0 > 0 ? $0 : nil }
        status = values["StatusText"]
        restarts = values["NRestarts"].flatMap { Int($0) }
    }

    /// For people, a line each.
    public var lines: [String] {
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

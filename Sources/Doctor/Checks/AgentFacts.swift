import AgentSupport
import Reports

/// Whether an agent runs on the state directory, and its own report.
struct AgentFacts: Equatable, Sendable {
    enum Answer: Equatable, Sendable {
        case healthy(AgentHealth)
        case notRunning
        /// Another user's program listens on the agent's socket.
        case foreign(String)
        /// The agent says what keeps it from starting, and what to do.
        case hindered(String)
        case failed(String)
        case late
    }

    /// Path of the control socket.
    var socket: String
    var answer: Answer
    /// The process that holds `<state>/lock`; nil if the lock is free.
    var lockHolder: Int32?

    /// The running agent; nil if none runs.
    var pid: Int32? {
        if case .healthy(let health) = answer { health.pid } else { lockHolder }
    }

    var findings: [Finding] {
        switch (answer, lockHolder) {
        case (.healthy(let health), _): return running(health)
        case (.notRunning, nil):
            return [Finding(.agent, .note, "not running", remedy: "start `outbox run`, or the service")]
        case (.notRunning, let pid?): return [silent(pid, "does not listen on \(socket)")]
        case (.foreign(let reason), _):
            return [Finding(.agent, .warning, reason, remedy: "`ls -l \(socket)` shows its owner")]
        case (.hindered(let reason), _): return [Finding(.agent, .warning, reason)]
        case (.failed(let reason), let pid): return [silent(pid, reason)]
        case (.late, let pid): return [silent(pid, "gives no answer on \(socket)")]
        }
    }

    private func running(_ health: AgentHealth) -> [Finding] {
        let state = health.paused ? ", paused" : ""
        let uptime = Quantity.duration(seconds: health.uptime)
        let agent = Finding(
            .agent, health.paused ? .note : .ok,
            "pid \(health.pid), version \(health.version), for \(uptime), \(health.active) files under way\(state)",
            remedy: health.paused ? "outbox resume --all" : nil)
        return [agent] + health.problems.map { Finding(.agent, .warning, "the agent says: \($0)") }
    }

    private func silent(_ pid: Int32?, _ what: String) -> Finding {
        let who = pid.map { "the agent with pid \($0)" } ?? "the agent"
        let restart = pid.map { "kill \($0), and start it again" } ?? "run this command as the agent's user"
        return Finding(
            .agent, .warning, "\(who) \(what)", remedy: "the agent may be starting; if this lasts, \(restart)")
    }
}

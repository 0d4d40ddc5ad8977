import Text
import Reports

/// Whether an agent runs on the state directory, and its own report.
struct AgentFacts: Sendable {
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
    /// Failed files that the agent lists, and the number of all.
    var failed: (files: [FileEntry], count: Int) = ([], 0)

    /// The running agent; nil if none runs.
    var pid: Int32? {
        if case .healthy(let health) = answer { health.pid } else { lockHolder }
    }

    /// Whether an agent runs and reports no trouble with the server or its credentials.
    var worksWithServer: Bool {
        guard case .healthy(let health) = answer, let attention = health.attention else { return false }
        return !attention.contains { ["server", "session"].contains($0.code) }
    }

    /// Corrects findings about credentials. A command may not see what the agent uses, such as a credential of its
    /// service (LoadCredential=, man 5 systemd.exec) or a file of its user. Then the agent's own success counts.
    func correct(_ findings: [Finding], hasCredential: Bool) -> [Finding] {
        guard !hasCredential, worksWithServer else { return findings }
        return findings.map { finding in
            guard finding.level == .stop, [.token, .credentials].contains(finding.check) else { return finding }
            return Finding(
                finding.check, .note,
                "this command sees no credentials, but the running agent does, and reports no trouble with the server (\(finding.message))"
            )
        }
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
        let uptime = Quantity.duration(seconds: health.uptime)
        let agent = Finding(
            .agent, .ok,
            "pid \(health.pid), version \(health.version), for \(uptime), \(health.active) files under way")
        let pause = Finding(.agent, .stop, "everything is paused, new files included", remedy: "outbox resume --all")
        return [agent] + (health.paused ? [pause] : []) + problems(of: health) + fileFindings
    }

    /// Problems of the agent that keep files from being uploaded. Others only affect what stands beside uploads.
    private static let stopping: Set<String> = ["ledger", "outbox", "server", "session"]

    private func problems(of health: AgentHealth) -> [Finding] {
        guard let attention = health.attention else {
            return health.problems.map { Finding(.agent, .warning, "the agent says: \($0)") }
        }
        return attention.map { problem in
            Finding(
                .agent, Self.stopping.contains(problem.code) ? .stop : .warning, "the agent says: \(problem.message)")
        }
    }

    /// Files that are not uploaded. A file that the agent can't read is a fault of this machine.
    private var fileFindings: [Finding] {
        guard failed.count > 0 else { return [] }
        let unreadable = failed.files.first { $0.error?.code == "unreadable" }
        guard let example = unreadable ?? failed.files.first else { return [] }
        let others = failed.count == 1 ? "" : ", and \(Quantity.count(failed.count - 1, "other file")) failed"
        let reason = example.error.map { ": " + $0.message } ?? ""
        let remedy = "`outbox status` lists them; `outbox retry --all` tries them again"
        return [
            Finding(
                .files, unreadable == nil ? .warning : .stop, "\(example.path) failed\(reason)\(others)",
                remedy: unreadable == nil ? remedy : "give the agent's user the right to read it; \(remedy)")
        ]
    }

    private func silent(_ pid: Int32?, _ what: String) -> Finding {
        let who = pid.map { "the agent with pid \($0)" } ?? "the agent"
        let restart = pid.map { "kill \($0), and start it again" } ?? "run this command as the agent's user"
        return Finding(
            .agent, .warning, "\(who) \(what)", remedy: "the agent may be starting; if this lasts, \(restart)")
    }
}

import Hooks
import LinuxSystem
import UploadCore

/// What the agent last told of itself.
struct AgentConditions {
    var hasTrouble = false
    var isBusy = false
    /// When the next heartbeat is due; `nil` before the first.
    var heartbeatDue: MonotonicTime?
}

// Tells hooks and heartbeat how the agent itself is. The uploader does this in its own turns, so nobody hears that all is
// well if it hangs.
extension Uploader {
    /// Appends rows to the journal for what has changed, if a hook asks for it.
    func noteConditions() {
        guard let hooks = parts.hooks else { return }
        status.problems[.hooks] = hooks.trouble
        guard hooks.wantsConditions else { return }
        let problems = status.messages
        if conditions.hasTrouble != !problems.isEmpty {
            conditions.hasTrouble = !problems.isEmpty
            tell(problems.isEmpty ? .recovered : .trouble, problems.joined(separator: "; "))
        }
        let isBusy = !core.book.drops.isEmpty || core.machine.hasBacklog
        if conditions.isBusy, !isBusy { tell(.idle) }
        conditions.isBusy = isBusy
    }

    private func tell(_ outcome: JournalRow.Outcome, _ message: String = "") {
        var row = JournalRow(time: now.wall, subject: .agent, outcome: outcome, path: .root)
        if !message.isEmpty { row.error = FileError(code: "trouble", message: message, retryable: true) }
        handle(.store([core.outcome(row)]))
    }

    /// Sends the heartbeat if it is due.
    func beat() {
        guard let heartbeat = parts.heartbeat, !hasStopped else { return }
        let now = now.monotonic
        guard conditions.heartbeatDue.map({ $0 <= now }) ?? true else { return }
        conditions.heartbeatDue = now + heartbeat.every
        heartbeat.send(problems: status.messages)
    }
}

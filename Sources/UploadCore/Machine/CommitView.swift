/// What is to be seen of a source's commit.
public struct CommitView: Equatable, Sendable {
    /// `verifying` while it is being sent or is about to be, `waiting`, `signedOut`, or `paused` with everything else.
    public var state: FileState
    /// When the next attempt is due, while `waiting`.
    public var nextAttemptAt: WallTime?
    /// What went wrong last, while it matters.
    public var error: FileError?
}

extension UploadMachine {
    /// What is to be seen of a source's commit; nil when none is on its way.
    public func commitView(of sourceID: String) -> CommitView? {
        guard let pending = commits[sourceID] else { return nil }
        if allPaused { return CommitView(state: .paused) }
        if let signedOut { return CommitView(state: .signedOut, error: signedOut) }
        var view = CommitView(state: .verifying)
        if pending.deadline != nil {
            view = CommitView(state: .waiting, nextAttemptAt: pending.nextAttemptAt, error: pending.error)
        }
        guard let gate = gates.closed(for: .commit) else { return view }
        view.error = gate.error ?? view.error
        if gate.reason == .signedOut {
            view.state = .signedOut
            view.nextAttemptAt = nil
        } else if !pending.isAsked {
            view.state = .waiting
            view.nextAttemptAt = later(gate.nextAttemptAt, view.nextAttemptAt)
        }
        return view
    }
}

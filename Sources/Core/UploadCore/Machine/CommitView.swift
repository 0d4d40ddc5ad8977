/// The visible state of a source's commit.
public struct CommitView: Equatable, Sendable {
    /// `verifying` while the commit is being sent or about to be; `waiting`; `signedOut`; `paused` along with
    /// everything else.
    public var state: FileState
    /// When the next attempt is due, while `waiting`.
    public var nextAttemptAt: WallTime?
    /// The last error, while it matters.
    public var error: FileError?
}

extension UploadMachine {
    /// Returns the visible state of a source's commit; nil if the source has no pending commit.
    public func commitView(of sourceID: String) -> CommitView? {
        guard let errand = commits[sourceID]?.errand else { return nil }
        if allPaused { return CommitView(state: .paused) }
        if let signedOut { return CommitView(state: .signedOut, error: signedOut) }
        var view = CommitView(state: .verifying)
        if let pause = errand.pause {
            view = CommitView(state: .waiting, nextAttemptAt: pause.nextAttemptAt, error: pause.error)
        }
        guard let gate = gates.closed(for: .commit) else { return view }
        view.error = gate.error ?? view.error
        if gate.reason == .signedOut {
            view.state = .signedOut
            view.nextAttemptAt = nil
        } else if !errand.isUnderWay {
            view.state = .waiting
            view.nextAttemptAt = later(gate.nextAttemptAt, view.nextAttemptAt)
        }
        return view
    }
}

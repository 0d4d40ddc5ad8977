package import Reports
package import UploadCore

extension UserAction {
    /// Whether the action has an effect on a path in this state. Used when the user names many paths at once, by a
    /// directory or a key.
    package func concerns(_ state: FileState) -> Bool {
        switch self {
        case .pause: !state.isFinal && state != .paused
        case .resume: state == .paused
        // A failed file is dismissed.
        case .cancel: !state.isFinal || state == .failed
        case .retry: state == .failed || state == .waiting
        case .first: !state.isFinal && state != .uploading && state != .verifying
        case .submit: false
        }
    }

    /// Whether the action has an effect on a post. Used when the user names a directory with several posts; drafts are
    /// then skipped.
    package func concerns(_ source: SourceEntry) -> Bool {
        FileState(rawValue: source.state).map { concerns($0) && (self != .cancel || !$0.isFinal) } ?? false
    }

    /// Whether a path in this state already is as the user wants. If so, it is no failure that the action did nothing.
    func isFulfilled(by state: FileState) -> Bool {
        switch self {
        case .pause: state == .paused
        case .cancel: state == .cancelled
        case .resume, .first: state == .done || !(state.isFinal || state == .paused)
        case .retry: state == .done || !(state.isFinal || [.paused, .waiting, .signedOut].contains(state))
        case .submit: state == .done || !state.isFinal
        }
    }

    /// Whether a post already is as the user wants. If so, it is no failure that the action did nothing.
    func isFulfilled(by source: SourceEntry) -> Bool {
        guard let state = FileState(rawValue: source.state) else { return source.isDraft && self == .resume }
        return isFulfilled(by: state) && (self != .submit || source.pending_changes.isEmpty)
    }

    /// The message if the action had nothing to do.
    var nothingToDo: String {
        switch self {
        case .first: "nothing to move to the front"
        case .retry: "nothing to retry: no file has failed or is waiting"
        case .submit, .pause, .resume, .cancel: "nothing to \(rawValue)"
        }
    }

    /// The lasting effect of an action on everything; nil if the action only affects existing files.
    package var standing: String? {
        switch self {
        case .pause: "everything is paused, new files included, until `outbox resume --all`"
        case .resume: "uploads continue; drafts wait for `outbox submit`"
        case .submit, .cancel, .retry, .first: nil
        }
    }

    /// The completed action: `paused`.
    var pastParticiple: String {
        switch self {
        case .submit: "submitted"
        case .pause: "paused"
        case .resume: "resumed"
        case .cancel: "cancelled"
        case .retry: "tried again"
        case .first: "moved to the front"
        }
    }

    /// The failed action on a path: `cannot pause beach.jpg`.
    func failure(_ path: String) -> String {
        self == .first ? "cannot move \(path) to the front" : "cannot \(rawValue) \(path)"
    }
}

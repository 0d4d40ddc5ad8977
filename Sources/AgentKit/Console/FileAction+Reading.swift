public import UploadCore

extension FileAction {
    /// Whether the action does something to a path in a state: what it is about where many paths are named at once, by a
    /// directory or a key.
    public func concerns(_ state: FileState) -> Bool {
        switch self {
        case .pause: !state.isFinal && state != .paused
        case .resume: state == .paused
        case .cancel: !state.isFinal
        case .retry: state == .failed || state == .waiting
        case .first: !state.isFinal && state != .uploading && state != .verifying
        }
    }

    /// Whether a path in a state is as somebody wants who asks for the action, so that it is no failure when nothing was
    /// done.
    public func isFulfilled(by state: FileState) -> Bool {
        switch self {
        case .pause: state == .paused
        case .cancel: state == .cancelled
        case .resume, .first: state == .done || !(state.isFinal || state == .paused)
        case .retry: state == .done || !(state.isFinal || [.paused, .waiting, .signedOut].contains(state))
        }
    }

    /// What to say where there was nothing to do.
    var nothingToDo: String {
        switch self {
        case .first: "nothing to move to the front"
        case .retry: "nothing failed or waits"
        case .pause, .resume, .cancel: "nothing to \(rawValue)"
        }
    }

    /// What holds from now on, when the action was about everything; nil where that is over with the files it changed.
    public var standing: String? {
        switch self {
        case .pause: "everything is paused, new files included, until `outbox resume --all`"
        case .resume: "nothing is paused any more"
        case .cancel, .retry, .first: nil
        }
    }

    /// What was done to a path, or is so already: `paused`.
    public var pastParticiple: String {
        switch self {
        case .pause: "paused"
        case .resume: "resumed"
        case .cancel: "cancelled"
        case .retry: "tried again"
        case .first: "moved to the front"
        }
    }
}

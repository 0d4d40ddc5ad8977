public import UploadCore

extension SourceWish {
    /// The wish about a source that goes with an action on files.
    public init(_ action: FileAction) {
        switch action {
        case .pause: self = .pause
        case .resume: self = .resume
        case .cancel: self = .cancel
        case .retry: self = .retry
        case .first: self = .first
        }
    }

    /// The action on files that goes with it; nil for `submit`.
    var action: FileAction? { FileAction(rawValue: rawValue) }

    /// Whether it does something to a source in a state: what it is about where a directory with several sources is named.
    /// A draft is left alone then.
    public func concerns(_ source: SourceEntry) -> Bool {
        guard let state = FileState(rawValue: source.state) else { return false }
        return action?.concerns(state) ?? false
    }

    /// Whether a source is as somebody wants who asks for this, so that it is no failure when nothing was done.
    public func isFulfilled(by source: SourceEntry) -> Bool {
        guard let state = FileState(rawValue: source.state) else {
            return source.isDraft && self == .resume
        }
        guard let action else { return source.pending_changes.isEmpty && (state == .done || !state.isFinal) }
        return action.isFulfilled(by: state)
    }

    /// What was done to a source: `submitted`.
    public var pastParticiple: String { action?.pastParticiple ?? "submitted" }
}

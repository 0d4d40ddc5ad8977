package import Reports
package import UploadCore

extension SourceWish {
    /// The wish for sources that corresponds to an action on files.
    package init(_ action: FileAction) {
        switch action {
        case .pause: self = .pause
        case .resume: self = .resume
        case .cancel: self = .cancel
        case .retry: self = .retry
        case .first: self = .first
        }
    }

    /// The corresponding action on files; nil for `submit`.
    package var action: FileAction? { FileAction(rawValue: rawValue) }

    /// Whether the wish has an effect on a source in this state. Used when the user names a directory with several
    /// sources; drafts are then skipped.
    package func concerns(_ source: SourceEntry) -> Bool {
        guard let state = FileState(rawValue: source.state) else { return false }
        return action?.concerns(state) ?? false
    }

    /// Whether a source already is as the user wants. If so, it is no failure that the wish did nothing.
    package func isFulfilled(by source: SourceEntry) -> Bool {
        guard let state = FileState(rawValue: source.state) else {
            return source.isDraft && self == .resume
        }
        guard let action else { return source.pending_changes.isEmpty && (state == .done || !state.isFinal) }
        return action.isFulfilled(by: state)
    }

    /// The completed wish: `submitted`.
    package var pastParticiple: String { action?.pastParticiple ?? "submitted" }
}

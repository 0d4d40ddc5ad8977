package import UploadCore

/// The state of a source in its sidecar: a file's state, or `draft`.
package enum SourceState: StateWord {
    /// Editable; not uploaded until the user submits it.
    case draft
    /// As for files. `verifying` includes the commit of the post; `done` means that the server has confirmed the
    /// post.
    case file(FileState)

    /// All states.
    package static var allCases: [SourceState] { [.draft] + FileState.allCases.map(SourceState.file) }

    /// The word for the state.
    package var word: String {
        switch self {
        case .draft: "draft"
        case .file(let state): state.rawValue
        }
    }

    /// The state for a word; `nil` if there is none.
    package init?(word: String) {
        if word == "draft" {
            self = .draft
        } else if let state = FileState(rawValue: word) {
            self = .file(state)
        } else {
            return nil
        }
    }

    /// Whether the source stays in this state until a person acts. A draft is not final.
    package var isFinal: Bool {
        switch self {
        case .draft: false
        case .file(let state): state.isFinal
        }
    }
}

public import UploadCore

/// The state of a source, as its sidecar shows it: that of a file, or `draft`.
public enum SourceState: Hashable, CaseIterable, Sendable {
    /// Kept, editable, not uploaded until it is submitted.
    case draft
    /// As for files; `verifying` is also while the server is told of the post, and `done` once it has confirmed it.
    case file(FileState)

    /// Every state there is.
    public static var allCases: [SourceState] { [.draft] + FileState.allCases.map(SourceState.file) }

    /// The word that stands for it.
    public var word: String {
        switch self {
        case .draft: "draft"
        case .file(let state): state.rawValue
        }
    }

    /// The state a word stands for; nil for any other.
    public init?(word: String) {
        if word == "draft" {
            self = .draft
        } else if let state = FileState(rawValue: word) {
            self = .file(state)
        } else {
            return nil
        }
    }

    /// Whether nothing more happens to the source unless a person acts. A draft is not final.
    public var isFinal: Bool {
        switch self {
        case .draft: false
        case .file(let state): state.isFinal
        }
    }
}

import AgentSupport
package import Reports
import UploadCore

extension SubjectEntry {
    /// Whether the state is final until the user acts. An unknown state of a newer agent is not final.
    package var isFinal: Bool { State(word: state)?.isFinal ?? false }

    /// Whether the server confirmed the file or post.
    package var isDone: Bool { state == FileState.done.rawValue }

    /// The path, escaped for display.
    package var shownPath: String { DisplayText.escaped(path) }
}

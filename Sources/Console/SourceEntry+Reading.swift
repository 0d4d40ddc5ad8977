import AgentSupport
import FoundationEssentials
package import Reports
import UploadCore

extension SourceEntry {
    /// Whether the source is a draft, which is not uploaded until it is submitted.
    package var isDraft: Bool { state == SourceState.draft.word }

    /// The directory, quoted for a command line.
    package var typedPath: String { ShellWord.text(path) }

    /// The source as a file entry at the directory's path. Bars, outcomes and `wait` treat both alike.
    package var asFile: FileEntry {
        FileEntry(
            id: id, path: path, path_bytes: path_bytes, state: state, size: size, progress: progress,
            remote: .init(protocol: "", url: url), deduplicated: false, attempts: 0, next_attempt_at: next_attempt_at,
            error: error, accepted_at: accepted_at, finished_at: finished_at, speed: speed, eta: eta,
            bytes_in_flight: bytes_in_flight)
    }
}

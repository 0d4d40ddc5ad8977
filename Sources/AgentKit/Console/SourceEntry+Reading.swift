import FoundationEssentials
public import UploadCore

extension SourceEntry {
    /// The directory's path in the outbox.
    ///
    /// - Returns: nil if the entry contains no valid path.
    public var relativePath: RelativePath? {
        guard let path_bytes else { return RelativePath(path) }
        return Data(base64Encoded: path_bytes).flatMap { RelativePath(Array($0)) }
    }

    /// Whether the source is a draft, which is not uploaded until it is submitted.
    public var isDraft: Bool { state == SourceState.draft.word }

    /// Whether the state is final until the user acts. An unknown state of a newer agent is not final.
    public var isFinal: Bool { SourceState(word: state)?.isFinal ?? false }

    /// Whether the server confirmed the post.
    public var isDone: Bool { state == FileState.done.rawValue }

    /// The directory, escaped for display.
    public var shownPath: String { DisplayText.escaped(path) }

    /// The directory, quoted for a command line.
    public var typedPath: String { ShellWord.text(path) }

    /// The source as a file entry at the directory's path. Bars, outcomes and `wait` treat both alike.
    public var asFile: FileEntry {
        FileEntry(
            id: id, path: path, path_bytes: path_bytes, state: state, size: size, progress: progress,
            remote: .init(protocol: "", url: url), deduplicated: false, attempts: 0, next_attempt_at: next_attempt_at,
            error: error, accepted_at: accepted_at, finished_at: finished_at, speed: speed, eta: eta,
            bytes_in_flight: bytes_in_flight)
    }
}

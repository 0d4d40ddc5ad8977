import FoundationEssentials
public import UploadCore

extension SourceEntry {
    /// The directory's path in the outbox.
    ///
    /// - Returns: nil when the entry does not hold a proper path.
    public var relativePath: RelativePath? {
        guard let path_bytes else { return RelativePath(path) }
        return Data(base64Encoded: path_bytes).flatMap { RelativePath(Array($0)) }
    }

    /// Whether it is kept and not uploaded until it is submitted.
    public var isDraft: Bool { state == SourceState.draft.word }

    /// Whether nothing more happens to it unless a person acts. A state that a newer agent may have is not final.
    public var isFinal: Bool { SourceState(word: state)?.isFinal ?? false }

    /// Whether the server confirmed the post.
    public var isDone: Bool { state == FileState.done.rawValue }

    /// The directory, safe to be shown.
    public var shownPath: String { DisplayText.escaped(path) }

    /// The directory as it is to be typed after a command.
    public var typedPath: String { ShellWord.text(path) }

    /// The source put like a file at the directory's path: what bars, outcomes and `wait` tell of it is the same.
    public var asFile: FileEntry {
        FileEntry(
            id: id, path: path, path_bytes: path_bytes, state: state, size: size, progress: progress,
            remote: .init(protocol: "", url: url), deduplicated: false, attempts: 0, next_attempt_at: next_attempt_at,
            error: error, accepted_at: accepted_at, finished_at: finished_at, speed: speed, eta: eta,
            bytes_in_flight: bytes_in_flight)
    }
}

/// The state of one file of a source, reduced to what matters for the source.
public struct SourceFile: Equatable, Sendable {
    /// The state in the file's record. Among the states that are not final, only `settling`, `hashing`, `queued` and
    /// `paused` (the user paused the file itself) appear.
    public var state: FileState
    /// The file's content; nil while unknown.
    public var key: ContentKey?
    /// The server's id of the content; nil before the file is `done`.
    public var remoteID: String?
    /// Whether the file is a picture. The first picture is the cover if `source.toml` names none.
    public var isPicture: Bool
    /// Why the file is in this state.
    public var error: FileError?

    /// Creates a file.
    public init(
        state: FileState, key: ContentKey? = nil, remoteID: String? = nil, isPicture: Bool = false,
        error: FileError? = nil
    ) {
        self.state = state
        self.key = key
        self.remoteID = remoteID
        self.isPicture = isPicture
        self.error = error
    }
}

/// Input of `SourceMachine`. Names of files are relative to the source's directory.
public enum SourceEvent: Equatable, Sendable {
    /// These files were already uploading when `source.toml` appeared. Their uploads continue unless the source is a
    /// draft.
    case adopt([RelativePath])
    /// Something changed below the directory: a file was written, added, removed or renamed, or `source.toml` changed.
    case moved
    /// `source.toml` was read.
    case described(SourceDescription)
    /// `source.toml` is unusable. The message names the line.
    case malformed(FileError)
    /// The state of a file. Sent after every change, and for each file after a restart.
    case file(RelativePath, SourceFile)
    /// A file no longer exists: its removal counts, it was renamed, or the agent moved it away.
    case gone(RelativePath)
    /// A file was renamed within the directory.
    case renamed(RelativePath, to: RelativePath)

    /// The user submits a draft, or the changes since the last revision.
    case submit
    /// The user pauses or resumes the source.
    case setPaused(Bool)
    /// The user cancels the source.
    case cancel
    /// The user retries the source.
    case retry
    /// The directory was removed.
    case removed

    /// A commit ended.
    case committed(revision: Int, CommitOutcome)
    /// A deadline passed.
    case tick
}

/// Output of `SourceMachine`. `store` comes first and must be durable before any later action begins.
public enum SourceAction: Equatable, Sendable {
    /// Store the changed record in the ledger.
    case store
    /// Commit the revision. `forgotten` is how often in a row the server did not know the files' ids. The pause before
    /// the commit grows with this number.
    case commit(SourceCommit, forgotten: Int)
    /// Withdraw the commit.
    case withdrawCommit
    /// Ask the server whether it still has the contents of these files, and send lost contents again.
    case verify([RelativePath])
    /// Retry these failed or cancelled files.
    case retryFiles([RelativePath])
    /// Cancel these files and delete on the server whatever no other path needs, including confirmed contents.
    case discardFiles([RelativePath], FileError)
    /// The visible state of the source changed, or the set of files that may be sent.
    case changed
}

/// How it stands with one file of a source, as far as the source depends on it.
public struct SourceFile: Equatable, Sendable {
    /// The file's own state, from its record: on its way, of the states that are not final only `settling`, `hashing`,
    /// `queued` and `paused` (by the user, on the file itself) are told apart.
    public var state: FileState
    /// Its content; nil before it is known.
    public var key: ContentKey?
    /// The server's id of the content; nil before it is `done`.
    public var remoteID: String?
    /// Whether it is a picture: the first one is the cover where `source.toml` names none.
    public var isPicture: Bool
    /// Why it is where it is.
    public var error: FileError?

    /// Describes a file.
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

/// What a source is told. Files are named relative to its directory.
public enum SourceEvent: Equatable, Sendable {
    /// These files were on their way already when `source.toml` came: they go on meanwhile, unless it is a draft.
    case adopt([RelativePath])
    /// Something below the directory moved: a file was written, came, went or was renamed, or `source.toml` was.
    case moved
    /// `source.toml` was read.
    case described(SourceDescription)
    /// `source.toml` can't be made use of; the message names the line.
    case malformed(FileError)
    /// How it stands with a file, told whenever that changes, and for each file after a restart.
    case file(RelativePath, SourceFile)
    /// There is no such file any more: removed for long enough to count, renamed, or moved away by the agent itself.
    case gone(RelativePath)
    /// A file got another name within the directory.
    case renamed(RelativePath, to: RelativePath)

    /// The user submits it: a draft, or what changed since it was taken.
    case submit
    /// The user pauses or resumes it.
    case setPaused(Bool)
    /// The user gives it up.
    case cancel
    /// The user wants it tried again.
    case retry
    /// The directory was removed.
    case removed

    /// A commit ended.
    case committed(revision: Int, CommitOutcome)
    /// A deadline passed.
    case tick
}

/// What a source wants done. `store` comes first: it must be durable before anything after it begins.
public enum SourceAction: Equatable, Sendable {
    /// The record is another: the ledger must have it.
    case store
    /// Tell the server of the revision. `forgotten` says how often in a row it did not know the files' ids: the more often,
    /// the longer is waited before.
    case commit(SourceCommit, forgotten: Int)
    /// The commit is not wanted any more.
    case withdrawCommit
    /// Ask the server whether it still has the contents of these files, and send those again that it has lost.
    case verify([RelativePath])
    /// Have these files looked at anew: they failed or were cancelled, and are wanted again.
    case retryFiles([RelativePath])
    /// Give these files up, and delete on the server what no other path needs: what was confirmed of them, too.
    case discardFiles([RelativePath], FileError)
    /// What is to be seen of the source changed, or which of its files may be sent.
    case changed
}

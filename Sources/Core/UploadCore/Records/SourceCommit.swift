/// The commit of one revision of a source. Every attempt sends the same commit, so a retry after a lost reply or a kill
/// repeats the same request (docs/protocol.md, `commit.do`).
public struct SourceCommit: Hashable, Sendable {
    /// The source's id, the same for all its revisions: 32 hexadecimal digits.
    public var sourceID: String
    /// The revision, from 1.
    public var revision: Int
    /// The post's title, never empty.
    public var title: String
    /// The server's id of the post's cover; nil if the post has no cover.
    public var cover: String?
    /// The server's ids of the files, sorted by file name, without duplicates.
    public var fileIDs: [String]
    /// When the agent first saw the source.
    public var createdAt: WallTime

    /// Creates a commit.
    public init(
        sourceID: String, revision: Int, title: String, cover: String?, fileIDs: [String], createdAt: WallTime
    ) {
        self.sourceID = sourceID
        self.revision = revision
        self.title = title
        self.cover = cover
        self.fileIDs = fileIDs
        self.createdAt = createdAt
    }
}

/// The outcome of a commit.
public enum CommitOutcome: Hashable, Sendable {
    /// The server confirmed the commit. `url` is the post's address, if the server returns it.
    case done(url: String?)
    /// The server refused it for good.
    case refused(FileError)
    /// The server has other files under this revision, as after a restore of this agent's state from a backup. `latest`
    /// is the server's latest revision, at least the commit's.
    case taken(latest: Int)
    /// The server no longer knows one of the files' ids and does not say which.
    case forgotten(FileError)
}

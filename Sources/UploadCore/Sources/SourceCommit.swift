/// One revision of a source as it is told to the server: the same for every attempt, so that a lost reply or a kill
/// leads to the very same request (docs/protocol.md, `commit.do`).
public struct SourceCommit: Hashable, Sendable {
    /// The source's id, the same for all its revisions: 32 hexadecimal digits.
    public var sourceID: String
    /// From 1.
    public var revision: Int
    /// The post's title, never empty.
    public var title: String
    /// The server's id of the file that stands for the post; nil where there is none.
    public var cover: String?
    /// The server's ids of the files, ordered by the files' names; each once.
    public var fileIDs: [String]
    /// When the source was first taken.
    public var createdAt: WallTime

    /// Puts a commit together.
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

/// How a commit ended.
public enum CommitOutcome: Hashable, Sendable {
    /// The server has it; with the post's address where it gives one.
    case done(url: String?)
    /// The server refused it for good.
    case refused(FileError)
    /// The server does not know one of the files' ids any more, and does not say which.
    case forgotten(FileError)
}

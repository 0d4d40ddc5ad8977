/// What the ledger keeps of one source. How far each of its files has got stands in the files' own records.
public struct SourceRecord: Equatable, Sendable {
    /// Most files a source may have.
    public static let mostFiles = 50

    /// Where a source stands, as far as that must be known after a restart.
    public enum Stage: Equatable, Sendable {
        /// Kept, editable, not uploaded.
        case draft
        /// Submitted: taken once nothing below the directory has moved for a while.
        case collecting
        /// Taken: its files are on their way.
        case uploading
        /// All files are on the server: this is what it is told, until it has confirmed it.
        case committing(SourceCommit)
        /// The server has confirmed the revision.
        case done
        /// The server refused it, or one of its files, for good.
        case failed(FileError)
        /// By the user, or the directory was removed.
        case cancelled(FileError)
        /// It can't be taken as it is: `source.toml` is malformed, or there are too many files.
        case rejected(FileError)
    }

    /// What a directory keeps when it is renamed and even when its file system is mounted anew.
    public struct DirectoryMark: Hashable, Sendable {
        /// Its inode number.
        public var inode: UInt64
        /// When it was made, nanoseconds since 1970.
        public var born: Int64

        /// Puts a mark together.
        public init(inode: UInt64, born: Int64) {
            self.inode = inode
            self.born = born
        }
    }

    /// What the server has confirmed.
    public struct Post: Equatable, Sendable {
        /// The revision, from 1.
        public var revision: Int
        /// Where the post can be seen, if the server says so.
        public var url: String?
        /// What it was made from.
        public var description: SourceDescription
        /// Its files, by name relative to the directory.
        public var files: [RelativePath: ContentKey]

        /// Puts a post together.
        public init(
            revision: Int, url: String?, description: SourceDescription, files: [RelativePath: ContentKey]
        ) {
            self.revision = revision
            self.url = url
            self.description = description
            self.files = files
        }
    }

    /// The source's id, 32 hexadecimal digits; it never changes.
    public var id: String
    /// Where the directory is, relative to the outbox.
    public var directory: RelativePath
    /// What tells the directory from others, whatever its name; nil where that is not known.
    public var mark: DirectoryMark?
    /// Whose it is; nil where nobody has ever signed in by name.
    public var account: String?
    /// When it was first seen.
    public var acceptedAt: WallTime
    /// When it reached a final state.
    public var finishedAt: WallTime?
    /// Where it stands.
    public var stage: Stage
    /// Whether the user paused it.
    public var isPaused = false
    /// What `source.toml` said last; nil before it was read, or while it is malformed.
    public var description: SourceDescription?
    /// The revision that is on its way, or was taken last; 0 before the first. One more where that was given up although the
    /// server may have it all the same.
    public var revision = 0
    /// The files of that revision, by name relative to the directory, with their contents; empty before the first.
    public var files: [RelativePath: ContentKey] = [:]
    /// Files that were left out of that revision, by name relative to the directory: they vanished before they were sent,
    /// were cancelled, or can't be taken.
    public var skipped: Set<RelativePath> = []
    /// The server's ids of those contents of that revision whose files vanished or were changed after it had confirmed
    /// them: they belong to it all the same.
    public var departed: [ContentKey: String] = [:]
    /// What the server has confirmed last; nil before the first commit.
    public var post: Post?

    /// Whether it was given up only because its directory was removed.
    public var wasRemoved: Bool {
        if case .cancelled(let error) = stage { error.code == "removed" } else { false }
    }

    /// A source just seen.
    public init(id: String, directory: RelativePath, account: String?, stage: Stage, acceptedAt: WallTime) {
        self.id = id
        self.directory = directory
        self.account = account
        self.stage = stage
        self.acceptedAt = acceptedAt
    }
}

/// The ledger's record of one source. The progress of each file is in the file's own record.
public struct SourceRecord: Equatable, Sendable {
    /// The maximum number of files of a source.
    public static let mostFiles = 50

    /// The stage of a source, as far as a restart needs it.
    public enum Stage: Equatable, Sendable {
        /// Editable and not uploaded.
        case draft
        /// Submitted. Taken once nothing below the directory has changed for a while.
        case collecting
        /// Taken: the files are uploading.
        case uploading
        /// The server has all files. The commit is sent until the server confirms it.
        case committing(SourceCommit)
        /// The server has confirmed the revision.
        case done
        /// The server refused the source, or one of its files, for good.
        case failed(FileError)
        /// The user cancelled the source, or the directory was removed.
        case cancelled(FileError)
        /// The source can't be taken: `source.toml` is malformed, or there are too many files.
        case rejected(FileError)
    }

    /// What identifies a directory after a rename, and even after its file system is mounted again.
    public struct DirectoryMark: Hashable, Sendable {
        /// The inode number.
        public var inode: UInt64
        /// The birth time in nanoseconds since 1970.
        public var born: Int64

        /// Creates a mark.
        public init(inode: UInt64, born: Int64) {
            self.inode = inode
            self.born = born
        }
    }

    /// The revision that the server confirmed.
    public struct Post: Equatable, Sendable {
        /// The revision, from 1.
        public var revision: Int
        /// The post's address, if the server returns it.
        public var url: String?
        /// The description that the post was made from.
        public var description: SourceDescription
        /// The post's files, by name relative to the directory.
        public var files: [RelativePath: ContentKey]

        /// Creates a post.
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
    /// The directory's path, relative to the outbox.
    public var directory: RelativePath
    /// What identifies the directory whatever its name; nil if unknown.
    public var mark: DirectoryMark?
    /// The owner; nil if no account has ever signed in by name.
    public var account: String?
    /// When the source was first seen.
    public var acceptedAt: WallTime
    /// When the source reached a final state.
    public var finishedAt: WallTime?
    /// The present stage.
    public var stage: Stage
    /// Whether the user paused the source.
    public var isPaused = false
    /// The last description read; nil before the first, or while `source.toml` is malformed.
    public var description: SourceDescription?
    /// The number of the revision in progress, or of the last one taken; 0 before the first. Increased if a commit was
    /// given up that the server may have received.
    public var revision = 0
    /// The revision's files, by name relative to the directory, with their contents; empty before the first revision.
    public var files: [RelativePath: ContentKey] = [:]
    /// Files left out of the revision, by name relative to the directory: they vanished before their upload, were
    /// cancelled, or can't be taken.
    public var skipped: Set<RelativePath> = []
    /// The server's ids of the revision's contents whose files vanished or changed after their confirmation. These
    /// contents stay in the revision.
    public var departed: [ContentKey: String] = [:]
    /// The last post that the server confirmed; nil before the first commit.
    public var post: Post?

    /// Whether the source was cancelled only because its directory was removed.
    public var wasRemoved: Bool {
        if case .cancelled(let error) = stage { error.code == "removed" } else { false }
    }

    /// Creates the record of a source just seen.
    public init(id: String, directory: RelativePath, account: String?, stage: Stage, acceptedAt: WallTime) {
        self.id = id
        self.directory = directory
        self.account = account
        self.stage = stage
        self.acceptedAt = acceptedAt
    }
}

/// The content of `source.toml`.
public struct SourceDescription: Hashable, Sendable {
    /// The post's title. If empty, the post is named after its directory.
    public var title: String
    /// The post's cover, relative to the directory; nil for the first picture by name.
    public var cover: RelativePath?
    /// Whether the source waits for `submit` before its upload.
    public var isDraft: Bool

    /// Creates a description.
    public init(title: String = "", cover: RelativePath? = nil, isDraft: Bool = false) {
        self.title = title
        self.cover = cover
        self.isDraft = isDraft
    }
}

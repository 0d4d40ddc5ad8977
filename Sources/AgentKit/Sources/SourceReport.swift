public import UploadCore

/// Everything there is to say of one source at one moment: what its sidecar holds and what the control interface tells.
///
/// It is derived from ledger and machines each time and never read back as truth.
public struct SourceReport: Equatable, Sendable {
    /// The source's id, the same over restarts and renames: 32 hexadecimal digits.
    public var id: String
    /// Where the directory is, relative to the outbox.
    public var directory: RelativePath
    /// The post's title: the directory's name where `source.toml` has none.
    public var title: String
    /// The file that stands for the post, relative to the directory; nil where none does.
    public var cover: RelativePath?
    /// Where the source stands.
    public var state: SourceState
    /// The revision that is on its way, or was confirmed last; 0 before the first.
    public var revision: Int
    /// Where the post can be seen, as the server said when it confirmed the last revision.
    public var url: String?
    /// Share of all files' bytes that the server acknowledged, 0…1; 1 only when done.
    public var progress: Double
    /// Size of all files together, bytes.
    public var size: UInt64
    /// The files, ordered by path: those of the revision, or all that are there where none was taken yet.
    public var files: [FileReport]
    /// Files that were left out of the revision, relative to the directory, ordered.
    public var skipped: [RelativePath]
    /// Files that were added, changed or removed after the revision was taken, relative to the directory, ordered:
    /// `submit` takes them as a new one. `source.toml` is among them where it was edited.
    public var pendingChanges: [RelativePath]
    /// Why it is where it is.
    public var error: FileError?
    /// When the next attempt is due, while `waiting`.
    public var nextAttemptAt: WallTime?
    /// When it was first seen.
    public var acceptedAt: WallTime
    /// When it reached a final state.
    public var finishedAt: WallTime?
    /// When this report was made.
    public var updatedAt: WallTime

    /// A report of a source of which nothing is known but that it was seen.
    public init(id: String, directory: RelativePath, state: SourceState, acceptedAt: WallTime, updatedAt: WallTime) {
        self.id = id
        self.directory = directory
        self.state = state
        self.acceptedAt = acceptedAt
        self.updatedAt = updatedAt
        title = String(directory.description.split(separator: "/").last ?? "")
        revision = 0
        progress = 0
        size = 0
        files = []
        skipped = []
        pendingChanges = []
    }

    /// Name of the file that makes a directory a source.
    public static let descriptionName = "source.toml"
    /// Name of a source's sidecar, in its directory.
    public static let sidecarName = "source.outbox.json"
}

package import UploadCore

/// The full report of one source at one moment: the content of its sidecar and of the control interface's answer.
///
/// Derived from ledger and machines each time, and never read back as truth.
package struct SourceReport: Equatable, Sendable {
    /// The source's id, the same over restarts and renames: 32 hexadecimal digits.
    package var id: String
    /// The directory, relative to the outbox.
    package var directory: RelativePath
    /// The post's title; the directory's name if `source.toml` has no title.
    var title: String
    /// The cover file of the post, relative to the directory; `nil` without one.
    var cover: RelativePath?
    /// The state of the source.
    package var state: SourceState
    /// The revision in progress, or the one confirmed last; 0 before the first.
    package var revision: Int
    /// The URL of the post, from the server's last confirmation of a revision.
    package var url: String?
    /// Share of all files' bytes that the server acknowledged, 0…1; 1 only when done.
    package var progress: Double
    /// Total size of all files in bytes.
    package var size: UInt64
    /// The files, sorted by path: those of the revision, or all files of the directory before the first revision.
    package var files: [FileReport]
    /// Files left out of the revision, relative to the directory, sorted.
    var skipped: [RelativePath]
    /// Files added, changed or removed after the revision was taken, relative to the directory, sorted. `submit`
    /// makes a new revision of them. Includes `source.toml` if it was edited.
    var pendingChanges: [RelativePath]
    /// The reason for the state.
    package var error: FileError?
    /// When the next attempt is due, while `waiting`.
    package var nextAttemptAt: WallTime?
    /// When the source was first seen.
    var acceptedAt: WallTime
    /// When the source reached a final state.
    package var finishedAt: WallTime?
    /// When this report was made.
    package var updatedAt: WallTime

    /// Creates the report of a source that was only seen so far.
    package init(id: String, directory: RelativePath, state: SourceState, acceptedAt: WallTime, updatedAt: WallTime) {
        self.id = id
        self.directory = directory
        self.state = state
        self.acceptedAt = acceptedAt
        self.updatedAt = updatedAt
        title = directory.shownName
        revision = 0
        progress = 0
        size = 0
        files = []
        skipped = []
        pendingChanges = []
    }

    /// Name of the file that makes a directory a source.
    package static let descriptionName = PostPlaces.descriptionName
    /// Name of a source's sidecar, in its directory.
    package static let sidecarName = "source.outbox.json"
}

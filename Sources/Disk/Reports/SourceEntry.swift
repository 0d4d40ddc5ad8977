/// A source's entry in the control interface: the sidecar's members (docs/sidecars.md), with speed and remaining
/// time.
package struct SourceEntry: Codable, Equatable, Sendable {
    /// One of the source's files.
    package struct File: Codable, Equatable, Sendable {
        /// The path relative to the outbox. Bytes that are not UTF-8 are percent-encoded.
        var path: String
        /// The path's bytes in base64, if they are not UTF-8.
        var path_bytes: String?
        /// The path relative to the source's directory.
        var name: String
        /// MD5 of the content.
        var key: String?
        /// `image`, `video` or `other`.
        var kind: String?
        /// One of the states of files.
        package var state: String
        /// Share of the acknowledged bytes, 0…1; 1 only when done.
        var progress: Double
        /// Size in bytes.
        var size: UInt64?
        /// URL of the content.
        var url: String?
        /// The reason for the file's state.
        var error: FileEntry.Problem?
    }

    /// Stable, opaque id of the source. Renaming the directory keeps the id.
    package var id: String
    /// The directory relative to the outbox. Bytes that are not UTF-8 are percent-encoded.
    package var path: String
    /// The directory's bytes in base64, if they are not UTF-8.
    package var path_bytes: String?
    /// The post's title.
    package var title: String
    /// The cover file of the post, relative to the directory.
    var cover: String?
    /// `draft`, or one of the states of files.
    package var state: String
    /// The revision in progress, or the one confirmed last; 0 before the first.
    var revision: Int
    /// URL of the post.
    package var url: String?
    /// Share of the acknowledged bytes of all files, 0…1; 1 only when done.
    package var progress: Double
    /// Total size of all files in bytes.
    package var size: UInt64
    /// The files, sorted by path.
    package var files: [File]
    /// Files left out of the revision, relative to the directory.
    package var skipped: [String]
    /// Files added, changed or removed since the revision was taken, relative to the directory.
    package var pending_changes: [String]
    /// When the next attempt is due, RFC 3339.
    package var next_attempt_at: String?
    /// The reason for the source's state.
    package var error: FileEntry.Problem?
    /// When the source was first seen, RFC 3339.
    package var accepted_at: String
    /// When the source reached a final state, RFC 3339.
    package var finished_at: String?
    /// Bytes per second over the last seconds.
    package var speed: UInt64?
    /// Seconds left at this speed.
    package var eta: UInt64?
    /// Bytes of fragments in flight that the peer acknowledged. Not part of `progress`.
    package var bytes_in_flight: UInt64?
}

/// A source's entry in the control interface: the sidecar's members (docs/sidecars.md), with speed and remaining
/// time.
public struct SourceEntry: Codable, Equatable, Sendable {
    /// One of the source's files.
    public struct File: Codable, Equatable, Sendable {
        /// The path relative to the outbox. Bytes that are not UTF-8 are percent-encoded.
        public var path: String
        /// The path's bytes in base64, if they are not UTF-8.
        public var path_bytes: String?
        /// The path relative to the source's directory.
        public var name: String
        /// MD5 of the content.
        public var key: String?
        /// `image`, `video` or `other`.
        public var kind: String?
        /// One of the states of files.
        public var state: String
        /// Share of the acknowledged bytes, 0…1; 1 only when done.
        public var progress: Double
        /// Size in bytes.
        public var size: UInt64?
        /// URL of the content.
        public var url: String?
        /// The reason for the file's state.
        public var error: FileEntry.Problem?
    }

    /// Stable, opaque id of the source. Renaming the directory keeps the id.
    public var id: String
    /// The directory relative to the outbox. Bytes that are not UTF-8 are percent-encoded.
    public var path: String
    /// The directory's bytes in base64, if they are not UTF-8.
    public var path_bytes: String?
    /// The post's title.
    public var title: String
    /// The cover file of the post, relative to the directory.
    public var cover: String?
    /// `draft`, or one of the states of files.
    public var state: String
    /// The revision in progress, or the one confirmed last; 0 before the first.
    public var revision: Int
    /// URL of the post.
    public var url: String?
    /// Share of the acknowledged bytes of all files, 0…1; 1 only when done.
    public var progress: Double
    /// Total size of all files in bytes.
    public var size: UInt64
    /// The files, sorted by path.
    public var files: [File]
    /// Files left out of the revision, relative to the directory.
    public var skipped: [String]
    /// Files added, changed or removed since the revision was taken, relative to the directory.
    public var pending_changes: [String]
    /// When the next attempt is due, RFC 3339.
    public var next_attempt_at: String?
    /// The reason for the source's state.
    public var error: FileEntry.Problem?
    /// When the source was first seen, RFC 3339.
    public var accepted_at: String
    /// When the source reached a final state, RFC 3339.
    public var finished_at: String?
    /// Bytes per second over the last seconds.
    public var speed: UInt64?
    /// Seconds left at this speed.
    public var eta: UInt64?
    /// Bytes of fragments in flight that the peer acknowledged. Not part of `progress`.
    public var bytes_in_flight: UInt64?
}

/// The agent's answer to an action on a source.
public struct SourceOutcome: Codable, Equatable, Sendable {
    /// The source after the action.
    public var source: SourceEntry
    /// Why there was nothing to do, for people; `nil` if the action was carried out.
    public var refusal: String?
}

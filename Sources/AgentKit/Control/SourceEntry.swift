/// One source's entry as the control interface tells it: the members of its sidecar (docs/sidecars.md) with speed and
/// remaining time.
public struct SourceEntry: Codable, Equatable, Sendable {
    /// One of the source's files.
    public struct File: Codable, Equatable, Sendable {
        /// The path relative to the outbox, odd bytes percent-encoded.
        public var path: String
        /// The path's bytes in base64, where it is not UTF-8.
        public var path_bytes: String?
        /// The path relative to the source's directory.
        public var name: String
        /// MD5 of the content.
        public var key: String?
        /// `image`, `video` or `other`.
        public var kind: String?
        /// One of the states of files.
        public var state: String
        /// 0…1, 1 only when done.
        public var progress: Double
        /// Bytes.
        public var size: UInt64?
        /// Where the content can be had.
        public var url: String?
        /// Why the file is where it is.
        public var error: FileEntry.Problem?
    }

    /// Stable, opaque name of the source; renaming the directory keeps it.
    public var id: String
    /// The directory relative to the outbox, odd bytes percent-encoded.
    public var path: String
    /// The directory's bytes in base64, where they are not UTF-8.
    public var path_bytes: String?
    /// The post's title.
    public var title: String
    /// The file that stands for the post, relative to the directory.
    public var cover: String?
    /// `draft`, or one of the states of files.
    public var state: String
    /// The revision that is on its way, or was confirmed last; 0 before the first.
    public var revision: Int
    /// Where the post can be seen.
    public var url: String?
    /// 0…1 over all files, 1 only when done.
    public var progress: Double
    /// Bytes of all files.
    public var size: UInt64
    /// The files, ordered by path.
    public var files: [File]
    /// Files that were left out of the revision, relative to the directory.
    public var skipped: [String]
    /// What was added, changed or removed since the revision was taken, relative to the directory.
    public var pending_changes: [String]
    /// When the next attempt is due, RFC 3339.
    public var next_attempt_at: String?
    /// Why the source is where it is.
    public var error: FileEntry.Problem?
    /// When it was first seen, RFC 3339.
    public var accepted_at: String
    /// When it reached a final state, RFC 3339.
    public var finished_at: String?
    /// Bytes a second over the last seconds.
    public var speed: UInt64?
    /// Seconds that the rest takes at this speed.
    public var eta: UInt64?
    /// Bytes of fragments under way that the other end has acknowledged; not part of `progress`.
    public var bytes_in_flight: UInt64?
}

/// What the agent says became of a wish about a source.
public struct SourceOutcome: Codable, Equatable, Sendable {
    /// The source as it is now.
    public var source: SourceEntry
    /// Why nothing was to be done, for people; nil where something was.
    public var refusal: String?
}

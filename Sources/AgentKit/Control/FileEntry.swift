/// One path's entry as the control interface tells it: the sidecar's members (docs/sidecars.md) with an id, speed and
/// remaining time.
public struct FileEntry: Codable, Equatable, Sendable {
    /// Fragment counts.
    public struct Fragments: Codable, Equatable, Sendable {
        /// Number of fragments.
        public var total: Int
        /// Number the server acknowledged.
        public var finished: Int
    }

    /// The server's names for the content.
    public struct Remote: Codable, Equatable, Sendable {
        /// `filesection`, `tus` or `s3`.
        public var `protocol`: String
        /// The server's id of the upload.
        public var id: String?
        /// Where the content can be had.
        public var url: String?
    }

    /// Why the path is where it is.
    public struct Problem: Codable, Equatable, Sendable {
        /// A short word, see docs/errors.md.
        public var code: String
        /// One line for people.
        public var message: String
        /// Whether it is tried again without anybody's help.
        public var retryable: Bool
    }

    /// Stable, opaque name of the path.
    public var id: String
    /// The path relative to the outbox, odd bytes percent-encoded.
    public var path: String
    /// The path's bytes in base64, where it is not UTF-8.
    public var path_bytes: String?
    /// MD5 of the content.
    public var key: String?
    /// One of the states of docs/sidecars.md.
    public var state: String
    /// `image`, `video` or `other`.
    public var kind: String?
    /// MIME type.
    public var type: String?
    /// Bytes.
    public var size: UInt64?
    /// Fragment counts; nil before the content is known.
    public var fragments: Fragments?
    /// 0…1, 1 only when done.
    public var progress: Double
    /// Bytes of a large file that are hashed already, while it is being hashed.
    public var hashed: UInt64?
    /// The server's names.
    public var remote: Remote
    /// Whether nothing was sent for this path.
    public var deduplicated: Bool
    /// Attempts begun.
    public var attempts: Int
    /// When the next attempt is due, RFC 3339.
    public var next_attempt_at: String?
    /// Why the path is where it is.
    public var error: Problem?
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
    /// The id of the source it belongs to.
    public var source: String?
    /// The path it was dropped under, where `intake.after_upload` has moved it since.
    public var moved_from: String?
}

/// How the agent is, as `GET /v1/health` tells it.
public struct AgentHealth: Codable, Equatable, Sendable {
    /// Process id.
    public var pid: Int32
    /// Version of the program.
    public var version: String
    /// Seconds since it began.
    public var uptime: UInt64
    /// Whether everything is paused.
    public var paused: Bool
    /// Whether the first full scan has ended: before that files may be missing from the list.
    public var scanned: Bool
    /// Number of paths that are not in a final state.
    public var active: Int
    /// What needs a person's attention, one line each; empty when all is well.
    public var problems: [String]
    /// Number of paths in each final state, as it was some seconds ago at most; states that no path is in are left out.
    public var files: [String: Int]?
    /// Where the token in use comes from: `environment` (OUTBOX_TOKEN), `token_file` or `login`; nil where there is none.
    public var token: String?
    /// Whose uploads the agent works for: the name given at `login`, or `default` where none ever was.
    public var account: String?
}

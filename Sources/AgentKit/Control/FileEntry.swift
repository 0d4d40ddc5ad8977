/// A path's entry in the control interface: the sidecar's members (docs/sidecars.md), with id, speed and remaining
/// time.
public struct FileEntry: Codable, Equatable, Sendable {
    /// Fragment counts.
    public struct Fragments: Codable, Equatable, Sendable {
        /// Number of fragments.
        public var total: Int
        /// Number of fragments that the server acknowledged.
        public var finished: Int
    }

    /// The server's id and URL of the content.
    public struct Remote: Codable, Equatable, Sendable {
        /// `filesection`, `tus` or `s3`.
        public var `protocol`: String
        /// The server's id of the upload.
        public var id: String?
        /// URL of the content.
        public var url: String?
    }

    /// The reason for the path's state.
    public struct Problem: Codable, Equatable, Sendable {
        /// A short word; see docs/errors.md.
        public var code: String
        /// One line for people.
        public var message: String
        /// Whether the agent retries without help.
        public var retryable: Bool
    }

    /// Stable, opaque id of the path.
    public var id: String
    /// The path relative to the outbox. Bytes that are not UTF-8 are percent-encoded.
    public var path: String
    /// The path's bytes in base64, if they are not UTF-8.
    public var path_bytes: String?
    /// MD5 of the content.
    public var key: String?
    /// One of the states of docs/sidecars.md.
    public var state: String
    /// `image`, `video` or `other`.
    public var kind: String?
    /// MIME type.
    public var type: String?
    /// Size in bytes.
    public var size: UInt64?
    /// Fragment counts; `nil` while the content is unknown.
    public var fragments: Fragments?
    /// Share of the acknowledged bytes, 0…1; 1 only when done.
    public var progress: Double
    /// Bytes hashed so far, while a large file is being hashed.
    public var hashed: UInt64?
    /// The server's id and URL.
    public var remote: Remote
    /// Whether nothing was sent for this path.
    public var deduplicated: Bool
    /// Attempts begun.
    public var attempts: Int
    /// When the next attempt is due, RFC 3339.
    public var next_attempt_at: String?
    /// The reason for the state.
    public var error: Problem?
    /// When the path was first seen, RFC 3339.
    public var accepted_at: String
    /// When the path reached a final state, RFC 3339.
    public var finished_at: String?
    /// Bytes per second over the last seconds.
    public var speed: UInt64?
    /// Seconds left at this speed.
    public var eta: UInt64?
    /// Bytes of fragments in flight that the peer acknowledged. Not part of `progress`.
    public var bytes_in_flight: UInt64?
    /// The id of the file's source.
    public var source: String?
    /// The path under which the file was dropped, if `intake.after_upload` moved it.
    public var moved_from: String?
}

/// The agent's health, for `GET /v1/health`.
public struct AgentHealth: Codable, Equatable, Sendable {
    /// Process id.
    public var pid: Int32
    /// Version of the program.
    public var version: String
    /// Seconds since the agent started.
    public var uptime: UInt64
    /// Whether everything is paused.
    public var paused: Bool
    /// Whether the first full scan has ended. Before that, the list of files may be incomplete.
    public var scanned: Bool
    /// Number of paths that are not in a final state.
    public var active: Int
    /// Problems that need a person's attention, one line each; empty if there are none.
    public var problems: [String]
    /// Number of paths in each final state, at most some seconds old. States without paths are left out.
    public var files: [String: Int]?
    /// Where the token in use comes from: `environment` (OUTBOX_TOKEN), `token_file` or `login`; `nil` without a
    /// token.
    public var token: String?
    /// The account the agent works for: the name given at `login`, or `default` if no name was ever given.
    public var account: String?
}

/// A path's entry in the control interface: the sidecar's members (docs/sidecars.md), with id, speed and remaining
/// time.
package struct FileEntry: Codable, Equatable, Sendable {
    /// Fragment counts.
    package struct Fragments: Codable, Equatable, Sendable {
        /// Number of fragments.
        var total: Int
        /// Number of fragments that the server acknowledged.
        var finished: Int
    }

    /// The server's id and URL of the content.
    struct Remote: Codable, Equatable, Sendable {
        /// `filesection`, `tus` or `s3`.
        var `protocol`: String
        /// The server's id of the upload.
        var id: String?
        /// URL of the content.
        var url: String?
    }

    /// What a recipe made of the file.
    struct Product: Codable, Equatable, Sendable {
        /// MD5 of the product; `nil` if none was made.
        var key: String?
        /// MIME type.
        var type: String?
        /// Size in bytes.
        var size: UInt64?
        /// Width in pixels.
        var width: Int?
        /// Height in pixels.
        var height: Int?
        /// Length of a video in seconds.
        var duration: Double?
        /// What was to be done.
        var recipe: String
        /// Why no product was made.
        var error: String?
    }

    /// The reason for the path's state.
    package struct Problem: Codable, Equatable, Sendable {
        /// A short word; see docs/errors.md.
        package var code: String
        /// One line for people.
        package var message: String
        /// Whether the agent retries without help.
        var retryable: Bool
    }

    /// Stable, opaque id of the path.
    package var id: String
    /// The path relative to the outbox. Bytes that are not UTF-8 are percent-encoded.
    package var path: String
    /// The path's bytes in base64, if they are not UTF-8.
    package var path_bytes: String?
    /// MD5 of the file's bytes.
    package var key: String?
    /// One of the states of docs/sidecars.md.
    package var state: String
    /// `image`, `video` or `other`.
    var kind: String?
    /// MIME type.
    var type: String?
    /// Size in bytes.
    package var size: UInt64?
    /// Fragment counts; `nil` while the content is unknown.
    var fragments: Fragments?
    /// Share of the acknowledged bytes, 0…1; 1 only when done.
    package var progress: Double
    /// Bytes hashed so far, while a large file is being hashed.
    package var hashed: UInt64?
    /// The server's id and URL.
    var remote: Remote
    /// What was uploaded in place of the file's bytes; `nil` if these were.
    var product: Product?
    /// Whether nothing was sent for this path.
    var deduplicated: Bool
    /// Attempts begun.
    var attempts: Int
    /// When the next attempt is due, RFC 3339.
    package var next_attempt_at: String?
    /// The reason for the state.
    package var error: Problem?
    /// When the path was first seen, RFC 3339.
    package var accepted_at: String
    /// When the path reached a final state, RFC 3339.
    package var finished_at: String?
    /// Bytes per second over the last seconds.
    package var speed: UInt64?
    /// Seconds left at this speed.
    package var eta: UInt64?
    /// Bytes of fragments in flight that the peer acknowledged. Not part of `progress`.
    package var bytes_in_flight: UInt64?
    /// The id of the file's source.
    package var source: String?
    /// The path under which the file was dropped, if `intake.after_upload` moved it.
    package var moved_from: String?
}

/// Something that needs a person.
package struct Attention: Codable, Equatable, Sendable {
    /// The code of the event `problem`.
    package var code: String
    /// One line for people.
    package var message: String
    /// Since when, RFC 3339.
    package var since: String

    package init(code: String, message: String, since: String) {
        (self.code, self.message, self.since) = (code, message, since)
    }
}

/// What was sent during the last hour, for `GET /v1/transfers`. One number for each interval, the latest last.
package struct TransferHistory: Codable, Equatable, Sendable {
    /// Seconds of one interval.
    package var interval: Int
    /// When the last interval ends, RFC 3339.
    package var end: String
    /// Acknowledged bytes.
    package var bytes: [UInt64]
    /// Acknowledged fragments.
    package var fragments: [UInt64]
    /// Fragments that failed.
    package var failed: [UInt64]

    package init(interval: Int, end: String, bytes: [UInt64], fragments: [UInt64], failed: [UInt64]) {
        (self.interval, self.end, self.bytes) = (interval, end, bytes)
        (self.fragments, self.failed) = (fragments, failed)
    }
}

/// The agent's health, for `GET /v1/health`.
package struct AgentHealth: Codable, Equatable, Sendable {
    /// Process id.
    package var pid: Int32
    /// Version of the program.
    package var version: String
    /// Seconds since the agent started.
    package var uptime: UInt64
    /// Whether everything is paused.
    package var paused: Bool
    /// Whether the first full scan has ended. Before that, the list of files may be incomplete.
    package var scanned: Bool
    /// Number of directories with new files that the agent has not taken yet, because it still works on too many
    /// others. These files are in no other number. `nil` from older agents.
    package var deferred: Int?
    /// Bytes that need not be sent, because files were made smaller, since the agent started; `nil` if no file is
    /// processed before its upload, and from older agents.
    package var saved: UInt64?
    /// Number of paths that are not in a final state.
    package var active: Int
    /// Problems that need a person's attention, one line each; empty if there are none.
    package var problems: [String]
    /// Number of paths in each final state, at most some seconds old. States without paths are left out.
    package var files: [String: Int]?
    /// What needs a person; `nil` from older agents.
    package var attention: [Attention]?
    /// Bytes per second of all uploads.
    package var speed: UInt64?
    /// Bytes of unfinished files that the server has not acknowledged. An estimate while more files are queued than the
    /// agent holds in memory.
    package var left: UInt64?
    /// Seconds until these are sent at this speed; `nil` while nothing is sent.
    package var eta: UInt64?
    /// Where the token in use comes from: `environment` (OUTBOX_TOKEN), `token_file` or `login`; `nil` without a
    /// token.
    package var token: String?
    /// The account the agent works for: the name given at `login`, or `default` if no name was ever given.
    package var account: String?

    package init(
        pid: Int32, version: String, uptime: UInt64, paused: Bool, scanned: Bool, active: Int, problems: [String],
        files: [String: Int]? = nil, token: String? = nil, account: String? = nil, deferred: Int? = nil,
        saved: UInt64? = nil, attention: [Attention]? = nil, speed: UInt64? = nil, left: UInt64? = nil
    ) {
        self.saved = saved
        self.attention = attention
        self.speed = speed
        self.left = left
        if let speed, let left, speed > 0 { eta = left / speed }
        self.pid = pid
        self.version = version
        self.uptime = uptime
        self.paused = paused
        self.scanned = scanned
        self.active = active
        self.problems = problems
        self.files = files
        self.token = token
        self.account = account
        self.deferred = deferred
    }
}

/// The content of the mirror, for `GET /v1/avatars` and `outbox avatar list --json`.
public struct AvatarList: Codable, Equatable, Sendable {
    /// A picture of the server in all its stored styles.
    public struct Picture: Codable, Equatable, Sendable {
        /// The URL of the picture.
        public var url: String
        /// MIME type of the original.
        public var type: String
        /// Size of the original in bytes.
        public var size: UInt64
        /// The stored styles besides the original.
        public var styles: [String]
        /// Size of the styled pictures in bytes.
        public var styled_size: UInt64
        /// When the picture was fetched or confirmed by the server, RFC 3339.
        public var fetched_at: String
        /// Until when the picture is shown without asking the server, RFC 3339.
        public var fresh_until: String
        /// Whether `fresh_until` is in the future.
        public var fresh: Bool
        /// When the picture was last used, RFC 3339.
        public var used_at: String
        /// Seconds since the picture was fetched or confirmed.
        public var age: UInt64
        /// Seconds since the last use.
        public var unused: UInt64
    }

    /// A failed URL that is not retried yet.
    public struct Failure: Codable, Equatable, Sendable {
        /// The URL.
        public var url: String
        /// A short snake_case word (docs/errors.md).
        public var code: String
        /// One line for people.
        public var message: String
        /// Until when the URL is not retried, RFC 3339.
        public var until: String
        /// Seconds until then.
        public var remaining: UInt64
    }

    /// The stored pictures, sorted by URL.
    public var avatars: [Picture]
    /// The failed URLs, sorted.
    public var failures: [Failure]
    /// Total size in bytes, including styled pictures.
    public var bytes: UInt64
    /// Maximum total size in bytes (`avatar_cache.max_size`).
    public var max_size: UInt64
}

/// The result of clearing the mirror.
public struct AvatarClearance: Codable, Equatable, Sendable {
    /// URLs of the removed pictures, sorted.
    public var removed: [String]
    /// Removed bytes, including styled pictures.
    public var bytes: UInt64
}

/// A mirrored picture, for `GET /v1/avatar/file` and `outbox avatar get --json`.
public struct AvatarFile: Codable, Equatable, Sendable {
    /// The requested URL.
    public var url: String
    /// The requested style.
    public var style: String
    /// Absolute path of the picture.
    public var path: String
    /// The MIME type.
    public var type: String
    /// Size in bytes.
    public var size: UInt64
}

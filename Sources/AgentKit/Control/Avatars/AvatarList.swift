/// What the mirror keeps, as `GET /v1/avatars` and `outbox avatar list --json` tell it.
public struct AvatarList: Codable, Equatable, Sendable {
    /// One picture of the server, in all styles it is kept in.
    public struct Picture: Codable, Equatable, Sendable {
        /// The URL it came from.
        public var url: String
        /// MIME type of the original.
        public var type: String
        /// Bytes of the original.
        public var size: UInt64
        /// The styles it is kept in beside the original.
        public var styles: [String]
        /// Bytes of the styled pictures.
        public var styled_size: UInt64
        /// When it was fetched, or confirmed by the server, RFC 3339.
        public var fetched_at: String
        /// Until when it is shown without asking the server, RFC 3339.
        public var fresh_until: String
        /// Whether that is still to come.
        public var fresh: Bool
        /// When it was used last, RFC 3339.
        public var used_at: String
        /// Seconds since it was fetched or confirmed.
        public var age: UInt64
        /// Seconds since it was used.
        public var unused: UInt64
    }

    /// A URL that failed and is left alone for a while.
    public struct Failure: Codable, Equatable, Sendable {
        /// The URL.
        public var url: String
        /// A short snake_case word (docs/errors.md).
        public var code: String
        /// One line for people.
        public var message: String
        /// Until when it is not asked again, RFC 3339.
        public var until: String
        /// Seconds until then.
        public var remaining: UInt64
    }

    /// What is kept, ordered by URL.
    public var avatars: [Picture]
    /// What failed, ordered by URL.
    public var failures: [Failure]
    /// Bytes of everything kept, styled pictures included.
    public var bytes: UInt64
    /// Bytes that may be kept (`avatar_cache.max_size`).
    public var max_size: UInt64
}

/// What was removed from the mirror.
public struct AvatarClearance: Codable, Equatable, Sendable {
    /// URLs of the pictures that went, ordered.
    public var removed: [String]
    /// Bytes that went, styled pictures included.
    public var bytes: UInt64
}

/// A picture of the mirror, as `GET /v1/avatar/file` and `outbox avatar get --json` tell it.
public struct AvatarFile: Codable, Equatable, Sendable {
    /// The URL that was asked for.
    public var url: String
    /// The style that was asked for.
    public var style: String
    /// Where the picture stands, absolute.
    public var path: String
    /// Its MIME type.
    public var type: String
    /// Its bytes.
    public var size: UInt64
}

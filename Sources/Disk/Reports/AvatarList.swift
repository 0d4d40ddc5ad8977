/// The content of the mirror, for `GET /v1/avatars` and `outbox avatar list --json`.
package struct AvatarList: Codable, Equatable, Sendable {
    /// A picture of the server in all its stored styles.
    package struct Picture: Codable, Equatable, Sendable {
        /// The URL of the picture.
        package var url: String
        /// MIME type of the original.
        var type: String
        /// Size of the original in bytes.
        package var size: UInt64
        /// The stored styles besides the original.
        package var styles: [String]
        /// Size of the styled pictures in bytes.
        package var styled_size: UInt64
        /// When the picture was fetched or confirmed by the server, RFC 3339.
        var fetched_at: String
        /// Until when the picture is shown without asking the server, RFC 3339.
        var fresh_until: String
        /// Whether `fresh_until` is in the future.
        package var fresh: Bool
        /// When the picture was last used, RFC 3339.
        var used_at: String
        /// Seconds since the picture was fetched or confirmed.
        package var age: UInt64
        /// Seconds since the last use.
        package var unused: UInt64

        package init(
            url: String, type: String, size: UInt64, styles: [String], styled_size: UInt64, fetched_at: String,
            fresh_until: String, fresh: Bool, used_at: String, age: UInt64, unused: UInt64
        ) {
            self.url = url
            self.type = type
            self.size = size
            self.styles = styles
            self.styled_size = styled_size
            self.fetched_at = fetched_at
            self.fresh_until = fresh_until
            self.fresh = fresh
            self.used_at = used_at
            self.age = age
            self.unused = unused
        }
    }

    /// A failed URL that is not retried yet.
    package struct Failure: Codable, Equatable, Sendable {
        /// The URL.
        package var url: String
        /// A short snake_case word (docs/errors.md).
        package var code: String
        /// One line for people.
        var message: String
        /// Until when the URL is not retried, RFC 3339.
        var until: String
        /// Seconds until then.
        package var remaining: UInt64

        package init(url: String, code: String, message: String, until: String, remaining: UInt64) {
            self.url = url
            self.code = code
            self.message = message
            self.until = until
            self.remaining = remaining
        }
    }

    /// The stored pictures, sorted by URL.
    package var avatars: [Picture]
    /// The failed URLs, sorted.
    package var failures: [Failure]
    /// Total size in bytes, including styled pictures.
    package var bytes: UInt64
    /// Maximum total size in bytes (`avatar_cache.max_size`).
    package var max_size: UInt64

    package init(avatars: [Picture], failures: [Failure], bytes: UInt64, max_size: UInt64) {
        self.avatars = avatars
        self.failures = failures
        self.bytes = bytes
        self.max_size = max_size
    }
}

/// The result of clearing the mirror.
package struct AvatarClearance: Codable, Equatable, Sendable {
    /// URLs of the removed pictures, sorted.
    package var removed: [String]
    /// Removed bytes, including styled pictures.
    package var bytes: UInt64

    package init(removed: [String], bytes: UInt64) {
        self.removed = removed
        self.bytes = bytes
    }
}

/// A mirrored picture, for `GET /v1/avatar/file` and `outbox avatar get --json`.
package struct AvatarFile: Codable, Equatable, Sendable {
    /// The requested URL.
    var url: String
    /// The requested style.
    var style: String
    /// Absolute path of the picture.
    package var path: String
    /// The MIME type.
    var type: String
    /// Size in bytes.
    var size: UInt64

    package init(url: String, style: String, path: String, type: String, size: UInt64) {
        self.url = url
        self.style = style
        self.path = path
        self.type = type
        self.size = size
    }
}

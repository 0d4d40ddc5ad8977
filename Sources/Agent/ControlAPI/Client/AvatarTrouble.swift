/// Why there is no picture.
package struct AvatarTrouble: Error, Equatable, Sendable, CustomStringConvertible {
    /// A short snake_case word (docs/errors.md).
    var code: String
    /// One line for people: what failed, about which URL, why, and what to do.
    package var description: String
    /// Until when the URL is not retried, RFC 3339; `nil` if a retry is possible at once.
    var until: String?

    /// Creates a trouble.
    package init(_ code: String, _ description: String, until: String? = nil) {
        self.code = code
        self.description = description
        self.until = until
    }

    /// The kind of trouble, which decides how a command or request ends.
    package enum Kind: Sendable {
        /// The request is malformed.
        case usage
        /// The configuration does not allow this host or address.
        case notAllowed
        /// The URL delivers no acceptable picture.
        case refused
        /// The failure is not the URL's fault. A later attempt may succeed.
        case later
        /// The picture can't be drawn, because there is no picture worker.
        case noWorker
        /// The mirror can't be read or written.
        case storage
    }

    /// The kind of trouble. Unknown codes concern the URL.
    package var kind: Kind {
        switch code {
        case Self.malformedURL, Self.unknownStyle: .usage
        case Self.notAllowed: .notAllowed
        case Self.pending, "unreachable", "server_busy", "cancelled": .later
        case "no_worker": .noWorker
        case Self.storage, Readiness.obstacleCode: .storage
        default: .refused
        }
    }

    /// The address is not an http or https URL.
    package static let malformedURL = "malformed_url"
    /// The style does not exist.
    package static let unknownStyle = "unknown_style"
    /// The host or its address may not be mirrored.
    private static let notAllowed = "not_allowed"
    /// The download is in progress.
    package static let pending = "pending"
    /// The mirror can't be read or written.
    package static let storage = "storage"

    /// The trouble of an agent whose avatar directory can't be used.
    static let noMirror = AvatarTrouble(
        storage, "the avatar directory can't be used; see the agent's log and `outbox doctor`")
}

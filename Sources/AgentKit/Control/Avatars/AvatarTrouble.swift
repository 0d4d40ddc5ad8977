/// Why there is no picture of an avatar.
public struct AvatarTrouble: Error, Equatable, Sendable, CustomStringConvertible {
    /// A short snake_case word (docs/errors.md).
    public var code: String
    /// One line for people: what failed, about which URL, why, and what to do.
    public var description: String
    /// Until when the URL is not asked again, RFC 3339; nil where it may be asked at once.
    public var until: String?

    /// A trouble.
    public init(_ code: String, _ description: String, until: String? = nil) {
        self.code = code
        self.description = description
        self.until = until
    }

    /// What kind of trouble it is, and so how a command or a request ends.
    public enum Kind: Sendable {
        /// The question is wrong.
        case usage
        /// The configuration does not let this host or address be mirrored.
        case notAllowed
        /// The URL gives no picture that could be taken.
        case refused
        /// It is not the URL's fault and may work at another time.
        case later
        /// The picture can't be drawn, since there is no picture worker.
        case noWorker
        /// The mirror can't be read or written.
        case storage
    }

    /// What kind of trouble it is; a code that is not known here speaks of the URL.
    public var kind: Kind {
        switch code {
        case Self.malformedURL, Self.unknownStyle: .usage
        case Self.notAllowed: .notAllowed
        case Self.pending, "unreachable", "server_busy", "cancelled": .later
        case "no_worker": .noWorker
        case Self.storage: .storage
        default: .refused
        }
    }

    /// What was given is no http or https URL.
    static let malformedURL = "malformed_url"
    /// What was given is no style.
    static let unknownStyle = "unknown_style"
    /// The host, or the address it has, may not be mirrored.
    static let notAllowed = "not_allowed"
    /// It is being fetched.
    static let pending = "pending"
    /// The mirror can't be read or written.
    static let storage = "storage"

    /// The trouble of an agent whose directory for avatars can't be used.
    static let noMirror = AvatarTrouble(
        storage, "the directory of avatars can't be used; the agent's log and `outbox doctor` say why")
}

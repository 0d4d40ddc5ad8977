/// The user's picture, as `GET /v1/profile` and the event `portrait` tell it (docs/control.md).
public struct ProfileReport: Decodable, Equatable, Sendable {
    /// A picture that was dropped and is not confirmed yet.
    public struct Pending: Decodable, Equatable, Sendable {
        /// The file it was dropped as, relative to the outbox.
        public var path: String
        /// The state of that file (docs/sidecars.md).
        public var state: String
        /// Attempts begun.
        public var attempts: Int
        /// When the next attempt is due, RFC 3339; nil where none is.
        public var next_attempt_at: String?
    }

    /// The URL of the picture that the server confirmed last, as it gave it.
    public var portraitURL: String?
    /// Absolute path that always leads to the user's picture, the pending one included; nil where there is none.
    public var current: String?
    /// The picture that is on its way.
    public var pending: Pending?
}

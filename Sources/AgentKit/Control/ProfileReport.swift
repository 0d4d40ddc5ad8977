/// The user's picture, for `GET /v1/profile` and the event `portrait` (docs/control.md).
public struct ProfileReport: Decodable, Equatable, Sendable {
    /// A dropped picture that the server has not confirmed yet.
    public struct Pending: Decodable, Equatable, Sendable {
        /// The dropped file, relative to the outbox.
        public var path: String
        /// The state of that file (docs/sidecars.md).
        public var state: String
        /// Attempts begun.
        public var attempts: Int
        /// When the next attempt is due, RFC 3339; `nil` if none is planned.
        public var next_attempt_at: String?
    }

    /// The URL of the last confirmed picture, as the server sent it.
    public var portraitURL: String?
    /// Absolute path that always leads to the user's picture, including a pending one; `nil` without a picture.
    public var current: String?
    /// The picture under way.
    public var pending: Pending?
}

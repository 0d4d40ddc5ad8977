/// The user's picture, for `GET /v1/profile` and the event `portrait` (docs/control.md).
package struct ProfileReport: Decodable, Equatable, Sendable {
    /// A dropped picture that the server has not confirmed yet.
    package struct Pending: Decodable, Equatable, Sendable {
        /// The dropped file, relative to the outbox.
        package var path: String
        /// The state of that file (docs/sidecars.md).
        package var state: String
        /// Attempts begun.
        package var attempts: Int
        /// When the next attempt is due, RFC 3339; `nil` if none is planned.
        package var next_attempt_at: String?
    }

    /// The URL of the last confirmed picture, as the server sent it.
    package var portraitURL: String?
    /// Absolute path that always leads to the user's picture, including a pending one; `nil` without a picture.
    package var current: String?
    /// The picture under way.
    package var pending: Pending?
}

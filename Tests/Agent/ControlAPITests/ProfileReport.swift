@testable import ControlAPI

/// The user's picture, for `GET /v1/profile` and the event `portrait` (docs/http.md).
struct ProfileReport: Decodable, Equatable, Sendable {
    /// A dropped picture that the server has not confirmed yet.
    struct Pending: Decodable, Equatable, Sendable {
        /// The dropped file, relative to the outbox.
        var path: String
        /// The state of that file (docs/sidecars.md).
        var state: String
        /// Attempts begun.
        var attempts: Int
        /// When the next attempt is due, RFC 3339; `nil` if none is planned.
        var next_attempt_at: String?
    }

    /// The URL of the last confirmed picture, as the server sent it.
    var portraitURL: String?
    /// Absolute path that always leads to the user's picture, including a pending one; `nil` without a picture.
    var current: String?
    /// The picture under way.
    var pending: Pending?
}

extension ControlClient {
    /// Returns the state of the user's picture.
    func profile() async throws -> ProfileReport { try await get("/v1/profile") }
}

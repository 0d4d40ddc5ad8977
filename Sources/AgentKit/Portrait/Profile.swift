import FoundationEssentials
import UploadCore

/// The profile picture that the server confirmed last: `<state>/profile.json`.
///
/// It is written in one piece, and is what decides whether a picture was confirmed, however the agent ended.
struct Profile: Codable, Equatable, Sendable {
    /// Changes only when a field changes meaning.
    var version = 1
    /// The URL that the server gave the picture, as it came.
    var portraitURL: String
    /// When the server confirmed it, as sidecars write times.
    var updatedAt: String
    /// Whose session it was sent in; nil where nobody was signed in.
    var account: String?
    /// The file it was made from, relative to the outbox, as sidecars write paths.
    var path: String
    /// MD5 of that file.
    var key: String
    /// Absolute path of the picture on this machine: in the avatar cache, or in the state directory where that could not
    /// take it.
    var picture: String
    /// Counts the pictures that were taken.
    var portrait: UInt64

    /// The URL that the avatar cache keeps the picture under: cut at its last `!`, behind which the server says which
    /// size is meant.
    static func cacheURL(of url: String) -> String {
        guard let mark = url.lastIndex(of: "!") else { return url }
        return String(url[..<mark])
    }
}

/// What `GET /v1/profile` answers.
struct ProfileView: Equatable, Sendable {
    /// What the server confirmed last; nil before the first time.
    var confirmed: Profile?
    /// The picture that waits to be confirmed; nil where none does.
    var pending: PortraitReport?
    /// Absolute path of the symbolic link to the picture that is shown now; nil where there is none.
    var current: String?

    /// The view as one JSON object.
    var json: [UInt8] {
        var text = JSONText(layout: .line)
        text.object { text in
            text.member("portraitURL", confirmed?.portraitURL)
            text.member("updatedAt", confirmed?.updatedAt)
            text.member("account", confirmed?.account)
            text.member("key", confirmed?.key)
            text.member("state", (pending?.state ?? confirmed.map { _ in .done })?.rawValue)
            text.member("current", current)
            guard let pending else { return text.null("pending") }
            text.nested("pending") { text in
                text.member("path", pending.path.description)
                text.member("key", pending.key.description)
                text.member("state", pending.state.rawValue)
                text.member("attempts", pending.attempts)
                text.member("next_attempt_at", pending.nextAttemptAt.map(Timestamp.text))
                guard let error = pending.error else { return text.null("error") }
                text.nested("error") { text in
                    text.member("code", error.code)
                    text.member("message", error.message)
                    text.member("retryable", error.retryable)
                }
            }
        }
        return text.bytes
    }
}

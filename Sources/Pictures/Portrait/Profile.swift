import Text
import FoundationEssentials
import LinuxSystem
package import SystemPackage
import UploadCore

/// The picture the server confirmed last: `<state>/profile.json`.
///
/// The file is written atomically. After any kind of exit, it decides whether a picture was confirmed.
package struct Profile: Codable, Equatable, Sendable {
    /// Changes only when a field changes its meaning.
    var version = 1
    /// The picture's URL, unchanged from the server's answer.
    package var portraitURL: String
    /// When the server confirmed the picture, in the sidecars' time format.
    var updatedAt: String
    /// The account whose session sent the picture; nil if nobody was signed in.
    var account: String?
    /// The dropped file, relative to the outbox, in the sidecars' path format.
    var path: String
    /// MD5 of the dropped file.
    var key: String
    /// Absolute path of the picture on this machine: in the avatar cache, or in the state directory if the cache could
    /// not store it.
    var picture: String
    /// The number of the picture; counts all stored pictures.
    var portrait: UInt64

    /// Reads the file in a state directory; nil if it is missing or damaged.
    package static func read(from state: String) throws(Errno) -> Profile? {
        guard let bytes = try PortraitDisk.read("profile.json", in: try Directory(path: state)) else { return nil }
        return try? JSONDecoder().decode(Profile.self, from: Data(bytes))
    }

    /// The picture's URL in the avatar cache: cut at the last `!`, because the server appends the size after it.
    package static func cacheURL(of url: String) -> String {
        guard let mark = url.lastIndex(of: "!") else { return url }
        return String(url[..<mark])
    }
}

/// The answer of `GET /v1/profile`.
package struct ProfileView: Equatable, Sendable {
    /// The picture the server confirmed last; nil before the first confirmation.
    var confirmed: Profile?
    /// The picture that waits for confirmation, if any.
    var pending: PortraitReport?
    /// Absolute path of `current.jpg`, the link to the picture shown; nil if no picture is shown.
    var current: String?

    /// The view as one JSON object.
    package var json: [UInt8] {
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

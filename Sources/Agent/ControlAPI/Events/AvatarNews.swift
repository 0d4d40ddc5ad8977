/// A change to a mirrored picture, for `/v1/events`.
package struct AvatarNews: Equatable, Sendable {
    /// The kinds of changes.
    package enum State: String, Sendable {
        /// The picture was mirrored, for the first time or again. Clients that show the picture should reload it.
        case kept
        /// The picture was removed from the mirror.
        case removed
        /// The picture could not be fetched.
        case failed
    }

    /// The URL of the picture.
    var url: String
    /// The kind of change.
    var state: State
    /// The reason for the failure, a short snake_case word.
    var code: String?
    /// The reason for people, one line.
    var message: String?
    /// Until when the URL is not retried, RFC 3339; `nil` if a retry is possible at once.
    var until: String?

    package init(url: String, state: State, code: String? = nil, message: String? = nil, until: String? = nil) {
        self.url = url
        self.state = state
        self.code = code
        self.message = message
        self.until = until
    }
}

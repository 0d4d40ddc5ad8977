/// What became of a picture of the server, for `/v1/events`.
struct AvatarNews: Equatable, Sendable {
    /// What became of it.
    enum State: String, Sendable {
        /// It is mirrored, for the first time or anew: whoever shows it asks for it again.
        case kept
        /// It is no longer mirrored.
        case removed
        /// It could not be had.
        case failed
    }

    /// The URL it comes from.
    var url: String
    /// What became of it.
    var state: State
    /// Why it could not be had, a short snake_case word.
    var code: String?
    /// The same for people, one line.
    var message: String?
    /// Until when it is not asked for again, RFC 3339; nil where it may be at once.
    var until: String?
}

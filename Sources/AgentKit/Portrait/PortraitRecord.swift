import UploadCore

/// The newest picture that was ever taken, and what became of it: what is kept on disk, and enough to go on with.
struct PortraitRecord: Equatable, Sendable {
    /// What became of it.
    enum Fate: String, Codable, Sendable {
        /// It waits to be sent, or is being sent.
        case pending
        /// The server has it.
        case done
        /// The server refused it for good.
        case failed
        /// The user, or the end of the session, took it back.
        case cancelled
    }

    /// Counts what was taken; also the name of the directory that holds the picture.
    var id: UInt64
    /// The file it was made from.
    var drop: PortraitDrop
    /// Whose session it was dropped in; nil where nobody was signed in, or the session was known to be refused: then it
    /// is taken by who signs in next.
    var account: String?
    /// What became of it.
    var fate = Fate.pending
    /// How many times it was begun to send it.
    var attempts = 0
    /// When it was begun to send it for the first time.
    var startedAt: WallTime?
    /// When it reached its end.
    var finishedAt: WallTime?
    /// Why it failed or was cancelled.
    var error: FileError?
    /// The URL that the server gave it, as it came.
    var url: String?
}

/// The newest picture ever stored and its fate. Written to disk, and sufficient to continue after a restart.
package struct PortraitRecord: Equatable, Sendable {
    /// The outcome of a stored picture.
    package enum Fate: String, Codable, Sendable {
        /// The picture waits for its upload or is being sent.
        case pending
        /// The server has the picture.
        case done
        /// The server refused the picture for good.
        case failed
        /// The picture was cancelled: by the user, or because the session ended.
        case cancelled
    }

    /// Counts the stored pictures; also names the directory of the picture.
    package var id: UInt64
    /// The dropped file.
    package var drop: PortraitDrop
    /// The account signed in at the time of the drop. Nil if nobody was signed in or the session was known to be
    /// refused: the picture then belongs to the next account that signs in.
    package var account: String?
    /// The picture's outcome.
    package var fate = Fate.pending
    /// Number of upload attempts begun.
    package var attempts = 0
    /// When the first upload attempt began.
    package var startedAt: WallTime?
    /// When the picture reached its final state.
    package var finishedAt: WallTime?
    /// Why the picture failed or was cancelled.
    package var error: FileError?
    /// The picture's URL, unchanged from the server's answer.
    package var url: String?

    /// Creates the record of a pending picture.
    package init(id: UInt64, drop: PortraitDrop, account: String?) {
        self.id = id
        self.drop = drop
        self.account = account
    }
}

import UploadCore

/// What a user can do about files.
public enum FileAction: String, CaseIterable, Sendable {
    /// Stop sending, keep what was sent, and stay so over restarts.
    case pause
    /// Go on after a pause.
    case resume
    /// Give up for good, and delete what the server has of it.
    case cancel
    /// Try again now: what waits for its next attempt, what failed, what was cancelled.
    case retry
    /// Go to the head of the queue.
    case first
}

/// What an action is about.
enum ActionTarget: Hashable, Sendable {
    /// One path, by the id of its entry.
    case file(id: String)
    /// Every path that waits for a content.
    case upload(ContentKey)
    /// Everything there is. Pausing and resuming it last over restarts and hold for new files too, cancelling is about
    /// all that is not final, retrying about all that failed or waits.
    case all
}

/// What became of an action.
struct ActionAnswer: Sendable {
    /// A path that is as it was.
    struct Unchanged: Sendable {
        var file: FileReport
        /// Why, for people: `it is done already`.
        var reason: String
    }

    /// Paths that are in another state or place now, as they are now; ordered by path.
    var changed: [FileReport] = []
    /// Paths that the action was about and did nothing to; ordered by path. For `all`, only what should have changed.
    var unchanged: [Unchanged] = []
}

/// What a clean-up removed.
public struct PruneReport: Codable, Equatable, Sendable {
    /// Sidecars of files that are gone.
    public var sidecars: Int
    /// Entries of the ledger for files that are gone.
    public var entries: Int

    /// Counts what was removed.
    public init(sidecars: Int = 0, entries: Int = 0) {
        self.sidecars = sidecars
        self.entries = entries
    }
}

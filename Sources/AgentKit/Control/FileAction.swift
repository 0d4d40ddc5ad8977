import UploadCore

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

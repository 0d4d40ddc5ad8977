import UploadCore

/// The target of an action.
enum ActionTarget: Hashable, Sendable {
    /// The path whose entry has this id.
    case file(id: String)
    /// Every path with this content.
    case upload(ContentKey)
    /// Everything. Pausing and resuming everything survive restarts and apply to new files. Cancelling affects all
    /// unfinished paths, retrying affects failed and waiting paths.
    case all
}

/// The result of an action.
struct ActionAnswer: Sendable {
    /// A path that the action did not change.
    struct Unchanged: Sendable {
        var file: FileReport
        /// The reason, for people: `it is done already`.
        var reason: String
    }

    /// Paths whose state or place changed, in their new state; sorted by path.
    var changed: [FileReport] = []
    /// Paths of the target that did not change; sorted by path. For `all`, only those that should have changed.
    var unchanged: [Unchanged] = []
}

/// The result of a clean-up.
public struct PruneReport: Codable, Equatable, Sendable {
    /// Number of removed sidecars whose files are gone.
    public var sidecars: Int
    /// Number of removed ledger entries whose files are gone.
    public var entries: Int

    /// Creates a report.
    public init(sidecars: Int = 0, entries: Int = 0) {
        self.sidecars = sidecars
        self.entries = entries
    }
}

package import UploadCore

/// The target of an action.
package enum ActionTarget: Hashable, Sendable {
    /// The path whose entry has this id.
    case file(id: String)
    /// Every path with this content.
    case upload(ContentKey)
}

/// The result of a clean-up.
package struct PruneReport: Codable, Equatable, Sendable {
    /// Number of removed sidecars whose files are gone.
    package var sidecars: Int
    /// Number of removed ledger entries whose files are gone.
    package var entries: Int

    /// Creates a report.
    package init(sidecars: Int = 0, entries: Int = 0) {
        self.sidecars = sidecars
        self.entries = entries
    }
}

package import Reports

/// A copy of the agent's files, or of its posts, that is updated cheaply: only active ones are requested again. A hundred
/// thousand files may be final.
package struct Mirror<Entry: SubjectEntry>: Sendable {
    private var byID: [String: Entry] = [:]
    /// Ids of the entries that are not final.
    private var activeIDs: Set<String> = []

    /// The states to poll: all that are not final.
    package static var activeStates: Set<Entry.State> { Set(Entry.State.allCases.filter { !$0.isFinal }) }

    /// Creates an empty mirror.
    package init() {}

    /// Replaces all entries.
    package mutating func replaceAll(_ entries: [Entry]) {
        byID = Dictionary(entries.map { ($0.id, $0) }) { $1 }
        activeIDs = Set(entries.lazy.filter { !$0.isFinal }.map(\.id))
    }

    /// Replaces all entries that are not final.
    ///
    /// Forgets entries that may be missing only because the list is cut.
    ///
    /// - Parameter cutStates: The states of which the list leaves out entries.
    /// - Returns: Ids of other entries that were not final before and are missing now. They ended, were removed, or are
    ///   in a cut state now.
    package mutating func replaceActive(_ entries: [Entry], cutStates: Set<String> = []) -> [String] {
        let now = Set(entries.map(\.id))
        var vanished = activeIDs.subtracting(now)
        for id in vanished {
            guard let entry = byID[id], cutStates.contains(entry.state) else { continue }
            byID[id] = nil
            vanished.remove(id)
        }
        for entry in entries { byID[entry.id] = entry }
        activeIDs = now
        return vanished.sorted()
    }

    /// Replaces one entry; nil removes the entry.
    package mutating func replace(_ id: String, with entry: Entry?) {
        byID[id] = entry
        if let entry, !entry.isFinal { activeIDs.insert(id) } else { activeIDs.remove(id) }
    }

    /// All entries, in no particular order.
    package var entries: [Entry] { Array(byID.values) }

    /// The entries that are not final, ordered by path.
    package var active: [Entry] { activeIDs.compactMap { byID[$0] }.sorted { $0.path < $1.path } }
}

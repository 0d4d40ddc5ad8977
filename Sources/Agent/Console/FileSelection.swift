package import Reports

/// The files and posts that `status` shows if the user names none.
package struct FileSelection: Sendable {
    /// The entries to show, in their original order.
    package let shown: [any SubjectEntry]
    /// The number of omitted final entries.
    package let leftOut: Int

    /// Selects all entries that are not final, the latest failed or rejected ones, and the latest other final ones.
    ///
    /// - Parameters:
    ///   - entries: The files and posts the agent knows.
    ///   - ended: Maximum number of final entries that need no attention.
    ///   - failures: Maximum number of failed or rejected entries; nobody reads a thousand reasons.
    package init(of entries: [any SubjectEntry], ended: Int, failures mostFailures: Int = 100) {
        let finals = entries.filter(\.isFinal)
        let failures = Self.latest(finals.filter { $0.attention != nil }, max(ended, mostFailures))
        let others = Self.latest(finals.filter { $0.attention == nil }, ended)
        shown = entries.filter { !$0.isFinal || failures.contains($0.id) || others.contains($0.id) }
        leftOut = entries.count - shown.count
    }

    /// The ids of the entries that ended last. RFC 3339 times in UTC and of equal length sort as text.
    fileprivate static func latest(_ entries: [any SubjectEntry], _ count: Int) -> Set<String> {
        let byTime = entries.map { ($0.finished_at ?? $0.accepted_at, $0.id) }.sorted { $0 > $1 }
        return Set(byTime.prefix(count).map(\.1))
    }
}

extension [FileEntry] {
    /// Returns at most so many files of each state, in their original order: of final states, those that ended last.
    package func latest(_ limit: Int) -> [FileEntry] {
        let kept = Dictionary(grouping: self, by: \.state).values.map { files in
            files[0].isFinal ? FileSelection.latest(files, limit) : Set(files.prefix(limit).map(\.id))
        }
        let ids = kept.reduce(into: Set<String>()) { $0.formUnion($1) }
        return filter { ids.contains($0.id) }
    }
}

package import Reports

/// The files that `status` shows if the user names none.
package struct FileSelection: Sendable {
    /// The files to show, in their original order.
    package let shown: [FileEntry]
    /// The number of omitted final files.
    package let leftOut: Int

    /// Selects all files that are not final, the latest failed or rejected files, and the latest other final files.
    ///
    /// - Parameters:
    ///   - files: The files the agent knows.
    ///   - ended: Maximum number of final files that need no attention.
    ///   - failures: Maximum number of failed or rejected files; nobody reads a thousand reasons.
    package init(of files: [FileEntry], ended: Int, failures mostFailures: Int = 100) {
        let finals = files.filter(\.isFinal)
        let failures = Self.latest(finals.filter { $0.attention != nil }, max(ended, mostFailures))
        let others = Self.latest(finals.filter { $0.attention == nil }, ended)
        shown = files.filter { !$0.isFinal || failures.contains($0.id) || others.contains($0.id) }
        leftOut = files.count - shown.count
    }

    /// The ids of the files that ended last. RFC 3339 times in UTC and of equal length sort as text.
    private static func latest(_ files: [FileEntry], _ count: Int) -> Set<String> {
        let byTime = files.map { ($0.finished_at ?? $0.accepted_at, $0.id) }.sorted { $0 > $1 }
        return Set(byTime.prefix(count).map(\.1))
    }
}

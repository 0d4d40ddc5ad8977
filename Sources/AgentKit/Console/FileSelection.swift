/// Which files `status` shows where none is named.
public struct FileSelection: Sendable {
    /// The files to show, in the order they came.
    public let shown: [FileEntry]
    /// How many final ones were left out.
    public let leftOut: Int

    /// What a person at a terminal wants to know: all files that are not final, those that failed or were rejected, and
    /// the others that ended last.
    ///
    /// - Parameters:
    ///   - files: what the agent knows.
    ///   - ended: how many files that ended without a need for attention are shown at most.
    ///   - failures: how many that failed or were rejected; nobody reads a thousand reasons.
    public init(of files: [FileEntry], ended: Int, failures mostFailures: Int = 100) {
        let finals = files.filter(\.isFinal)
        let failures = Self.latest(finals.filter { $0.attention != nil }, max(ended, mostFailures))
        let others = Self.latest(finals.filter { $0.attention == nil }, ended)
        shown = files.filter { !$0.isFinal || failures.contains($0.id) || others.contains($0.id) }
        leftOut = files.count - shown.count
    }

    /// The ids of those that ended last. RFC 3339 times in UTC and of one length sort as text.
    private static func latest(_ files: [FileEntry], _ count: Int) -> Set<String> {
        let byTime = files.map { ($0.finished_at ?? $0.accepted_at, $0.id) }.sorted { $0 > $1 }
        return Set(byTime.prefix(count).map(\.1))
    }
}

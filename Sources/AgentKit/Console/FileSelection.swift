/// Which files `status` shows where none is named.
public struct FileSelection: Sendable {
    /// The files to show, in the order they came.
    public let shown: [FileEntry]
    /// How many final ones were left out.
    public let leftOut: Int

    /// All files that are not final, and those that ended last: what a person at a terminal wants to know.
    ///
    /// - Parameters:
    ///   - files: what the agent knows.
    ///   - ended: how many final ones are shown at most.
    public init(of files: [FileEntry], ended: Int) {
        let finals = files.filter(\.isFinal)
        // RFC 3339 times in UTC and of one length sort as text.
        let latest = finals.map { ($0.finished_at ?? $0.accepted_at, $0.id) }.sorted { $0 > $1 }.prefix(ended)
        let kept = Set(latest.map(\.1))
        shown = files.filter { !$0.isFinal || kept.contains($0.id) }
        leftOut = files.count - shown.count
    }
}

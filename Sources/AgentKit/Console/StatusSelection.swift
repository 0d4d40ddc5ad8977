/// What `status` shows: files, and sources with theirs.
public struct StatusSelection: Sendable {
    /// A line of the list, with what stands below it.
    public enum Item: Equatable, Sendable {
        /// A file of no source.
        case file(FileEntry)
        /// A source and those of its files that are shown.
        case source(SourceEntry, files: [FileEntry])
    }

    /// What to show: what needs attention, then the rest, each ordered by path.
    public let items: [Item]
    /// How many files and sources that ended were left out.
    public let leftOut: Int

    /// Everything, or what a person at a terminal wants to know: what is not final, what failed or was rejected, and what
    /// ended last.
    ///
    /// - Parameters:
    ///   - files: what is known of files, those of sources included; ordered by path.
    ///   - sources: what is known of sources.
    ///   - ended: how many files and sources that ended without a need for attention are shown at most; nil for all of
    ///     them. Where it is given, the files of a source that are done are left out too: the source's line counts them.
    public init(_ files: [FileEntry], sources: [SourceEntry], ended: Int?) {
        let groups = SourceGroups(sources)
        var split = groups.split(files)
        let byID = Dictionary(sources.map { ($0.id, $0) }) { $1 }
        let heads = ((split.removeValue(forKey: "") ?? []) + sources.map(\.asFile))
            .sorted { ($0.attention ?? .max, $0.path) < ($1.attention ?? .max, $1.path) }
        let selection = FileSelection(of: heads, ended: ended ?? .max)
        items = selection.shown.map { head in
            guard let source = byID[head.id] else { return .file(head) }
            let own = split[source.id] ?? []
            return .source(source, files: ended == nil ? own : own.filter { !$0.isDone })
        }
        leftOut = selection.leftOut
    }
}

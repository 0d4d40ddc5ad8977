package import Reports
import UploadCore

/// The entries `status` shows: files, and sources with their files.
package struct StatusSelection: Sendable {
    /// A line of the list, with the lines below.
    package enum Item: Equatable, Sendable {
        /// A file without a source.
        case file(FileEntry)
        /// A source and its files to show.
        case source(SourceEntry, files: [FileEntry])
    }

    /// The entries to show: first those that need attention, then the rest, each ordered by path.
    package let items: [Item]
    /// Number of omitted final files and sources.
    package let leftOut: Int
    /// Number of omitted files that are not final.
    package let activeLeftOut: Int

    /// Selects everything, or what matters at a terminal: active, failed and rejected entries, and the latest other
    /// final entries.
    ///
    /// - Parameters:
    ///   - files: The files to show, including those of sources; ordered by path.
    ///   - sources: All known sources.
    ///   - ended: Maximum number of final files and sources that need no attention; nil for all. If given, finished
    ///     files of a source are omitted too: the source's line counts them.
    ///   - counts: Number of all known files by state; nil if `files` has them all.
    package init(_ files: [FileEntry], sources: [SourceEntry], ended: Int?, counts: [String: Int]? = nil) {
        let groups = SourceGroups(sources)
        var split = groups.split(files)
        let loose = split.removeValue(forKey: "") ?? []
        let heads: [any SubjectEntry] = loose + sources
        let ordered = heads.sorted { ($0.attention ?? .max, $0.path) < ($1.attention ?? .max, $1.path) }
        let selection = FileSelection(of: ordered, ended: ended ?? .max)
        items = selection.shown.compactMap { head in
            if let file = head as? FileEntry { return .file(file) }
            guard let source = head as? SourceEntry else { return nil }
            let own = split[source.id] ?? []
            return .source(source, files: ended == nil ? own : own.filter { !$0.isDone })
        }
        let omitted = { (isFinal: Bool) in
            let known = counts?.filter { FileState(rawValue: $0.key)?.isFinal == isFinal }.values.reduce(0, +)
            return known.map { max(0, $0 - files.count { $0.isFinal == isFinal }) } ?? 0
        }
        leftOut = selection.leftOut + omitted(true)
        activeLeftOut = omitted(false)
    }
}

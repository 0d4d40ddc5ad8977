package import Reports
import UploadCore

/// Assigns files to their sources.
package struct SourceGroups: Sendable {
    /// The sources, ordered by directory.
    package let sources: [SourceEntry]

    private let ids: Set<String>
    private let byDirectory: [RelativePath: String]

    /// Creates groups for sources.
    package init(_ sources: [SourceEntry]) {
        self.sources = sources
        ids = Set(sources.map(\.id))
        byDirectory = Dictionary(
            sources.compactMap { source in source.relativePath.map { ($0, source.id) } }, uniquingKeysWith: { $1 })
    }

    /// The id of the source that contains a file; nil for none. The entry's own `source` counts first, then the
    /// directories above.
    package func owner(of file: FileEntry) -> String? {
        guard !ids.isEmpty else { return nil }
        if let source = file.source { return ids.contains(source) ? source : nil }
        var directory = file.relativePath?.parent ?? .root
        while !directory.bytes.isEmpty {
            if let id = byDirectory[directory] { return id }
            directory = directory.parent
        }
        return nil
    }

    /// Groups files by the id of their source. Files without a source have the empty id.
    func split(_ files: [FileEntry]) -> [String: [FileEntry]] {
        Dictionary(grouping: files) { owner(of: $0) ?? "" }
    }

    /// Files without a source.
    package func loose(_ files: [FileEntry]) -> [FileEntry] { files.filter { owner(of: $0) == nil } }
}

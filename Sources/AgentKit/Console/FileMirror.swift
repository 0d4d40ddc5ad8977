public import UploadCore

/// What is known of files, kept up with the agent at the price of those that are under way: what was final may be a
/// hundred thousand files, of which nothing is asked again.
public struct FileMirror: Sendable {
    private var byID: [String: FileEntry] = [:]
    /// Ids of the files that are not final.
    private var active: Set<String> = []

    /// The states that are asked for again and again: all that are not final.
    public static let activeStates = Set(FileState.allCases.filter { !$0.isFinal })

    /// Nothing known yet.
    public init() {}

    /// Takes in all files there are.
    public mutating func replaceAll(_ files: [FileEntry]) {
        byID = Dictionary(files.map { ($0.id, $0) }) { $1 }
        active = Set(files.lazy.filter { !$0.isFinal }.map(\.id))
    }

    /// Takes in all files that are not final.
    ///
    /// - Returns: ids of files that were among them before, and are not any more: they ended, or are gone.
    public mutating func replaceActive(_ files: [FileEntry]) -> [String] {
        let now = Set(files.map(\.id))
        let vanished = active.subtracting(now)
        for file in files { byID[file.id] = file }
        active = now
        return vanished.sorted()
    }

    /// Takes in what became of one file; nil where it is gone.
    public mutating func replace(_ id: String, with file: FileEntry?) {
        byID[id] = file
        if let file, !file.isFinal { active.insert(id) } else { active.remove(id) }
    }

    /// All files, in no particular order.
    public var files: [FileEntry] { Array(byID.values) }

    /// The files that are not final, ordered by path.
    public var activeFiles: [FileEntry] { active.compactMap { byID[$0] }.sorted { $0.path < $1.path } }
}

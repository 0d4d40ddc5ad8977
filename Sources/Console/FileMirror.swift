package import Reports
package import UploadCore

/// A copy of the agent's files that is updated cheaply: only active files are requested again. A hundred thousand
/// files may be final.
package struct FileMirror: Sendable {
    private var byID: [String: FileEntry] = [:]
    /// Ids of the files that are not final.
    private var active: Set<String> = []

    /// The states to poll: all that are not final.
    package static let activeStates = Set(FileState.allCases.filter { !$0.isFinal })

    /// Creates an empty mirror.
    package init() {}

    /// Replaces all files.
    package mutating func replaceAll(_ files: [FileEntry]) {
        byID = Dictionary(files.map { ($0.id, $0) }) { $1 }
        active = Set(files.lazy.filter { !$0.isFinal }.map(\.id))
    }

    /// Replaces all files that are not final.
    ///
    /// - Returns: Ids of files that were not final before and are missing now: they ended or were removed.
    package mutating func replaceActive(_ files: [FileEntry]) -> [String] {
        let now = Set(files.map(\.id))
        let vanished = active.subtracting(now)
        for file in files { byID[file.id] = file }
        active = now
        return vanished.sorted()
    }

    /// Replaces one file; nil removes the file.
    package mutating func replace(_ id: String, with file: FileEntry?) {
        byID[id] = file
        if let file, !file.isFinal { active.insert(id) } else { active.remove(id) }
    }

    /// All files, in no particular order.
    package var files: [FileEntry] { Array(byID.values) }

    /// The files that are not final, ordered by path.
    package var activeFiles: [FileEntry] { active.compactMap { byID[$0] }.sorted { $0.path < $1.path } }
}

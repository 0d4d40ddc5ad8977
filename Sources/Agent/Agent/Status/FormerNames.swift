import Reports
import UploadCore

/// The latest path of each renamed file, by the ids of its former names. Remembers only the last few hundred renames.
struct FormerNames: Sendable {
    /// The longest chain of renames that is followed.
    private static let longestChain = 8

    private var latest = RecentTable<String, RelativePath>(generation: 256)

    mutating func record(_ old: RelativePath, renamedTo new: RelativePath) { latest[FileReport.id(of: old)] = new }

    /// Returns the current path of a file that had another name when a user asked for it.
    ///
    /// - Parameter exists: whether a path is the current name of a file.
    func path(withFormerID id: String, exists: (RelativePath) -> Bool) -> RelativePath? {
        var id = id
        for _ in 1...Self.longestChain {
            guard let path = latest[id] else { return nil }
            if exists(path) { return path }
            id = FileReport.id(of: path)
        }
        return nil
    }
}

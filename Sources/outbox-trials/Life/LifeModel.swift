import EndToEndSupport

/// What stands in the outbox during a random life, and what must become of it.
struct LifeModel {
    struct File: Equatable {
        /// The MD5 of its bytes.
        var key: String
        /// Whether the user cancelled it, so that it must never be uploaded.
        var isCancelled = false
    }

    private(set) var files: [String: File] = [:]
    /// Knows every content that ever stood anywhere, to tell a mixture.
    private(set) var judge = Judge()

    var paths: [String] { files.keys.sorted() }
    /// The directories that hold at least one file; the outbox itself is not among them.
    var directories: [String] {
        Set(paths.compactMap { path in path.lastIndex(of: "/").map { String(path[..<$0]) } }).sorted()
    }
    var cancelled: [String] { paths.filter { files[$0]?.isCancelled == true } }

    /// Whether another path holds the same content.
    func hasCopy(_ path: String) -> Bool {
        guard let key = files[path]?.key else { return false }
        return files.contains { $0.key != path && $0.value.key == key }
    }

    /// The content with this key stands at `path` now; an older cancellation was meant for other bytes.
    mutating func stands(_ key: String, at path: String) {
        files[path] = File(key: key)
        judge.stands(key, at: path)
    }

    mutating func removed(_ path: String) {
        files[path] = nil
        judge.removed(path)
    }

    /// A cancellation belongs to the file, so it moves along.
    mutating func renamed(_ old: String, to new: String) {
        guard let file = files.removeValue(forKey: old) else { return }
        judge.removed(old)
        files[new] = file
        if !file.isCancelled { judge.stands(file.key, at: new) }
    }

    mutating func renamed(directory old: String, to new: String) {
        for path in paths where path.hasPrefix(old + "/") { renamed(path, to: new + path.dropFirst(old.count)) }
    }

    /// The user cancelled the file, and the agent agreed.
    mutating func cancelled(_ path: String) {
        files[path]?.isCancelled = true
        judge.removed(path)
    }
}

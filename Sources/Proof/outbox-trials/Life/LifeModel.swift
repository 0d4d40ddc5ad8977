import EndToEndSupport

/// The files in the outbox during a random life, and the outcome that each must reach.
struct LifeModel {
    struct File: Equatable {
        /// The MD5 of the file's bytes.
        var key: String
        /// Whether the user cancelled the file, which must then never be uploaded.
        var isCancelled = false
    }

    private(set) var files: [String: File] = [:]
    /// By directory: the keys of the post's files, by name.
    private(set) var posts: [String: [String: String]] = [:]
    /// Contents of posts whose directory once went away: the server may have deleted and received them again.
    private(set) var returned: Set<String> = []
    /// Knows every content that any path ever had, to detect mixed contents.
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

    /// Sets the content of `path`. Clears a former cancellation, because the user cancelled other bytes.
    mutating func stands(_ key: String, at path: String) {
        files[path] = File(key: key)
        judge.stands(key, at: path)
    }

    mutating func removed(_ path: String) {
        files[path] = nil
        judge.removed(path)
    }

    /// Renames a file. A cancellation moves with the file.
    mutating func renamed(_ old: String, to new: String) {
        guard let file = files.removeValue(forKey: old) else { return }
        judge.removed(old)
        files[new] = file
        if !file.isCancelled { judge.stands(file.key, at: new) }
    }

    mutating func renamed(directory old: String, to new: String) {
        for path in paths where path.hasPrefix(old + "/") { renamed(path, to: new + path.dropFirst(old.count)) }
    }

    /// Adds a whole post to the outbox: a new post, or a post that returns unchanged.
    mutating func stands(post files: [String: String], in directory: String) {
        posts[directory] = files
        for (name, key) in files { judge.stands(key, at: "\(directory)/\(name)") }
    }

    /// Removes a post whose directory left the outbox.
    ///
    /// - Returns: the keys of the post's files, by name.
    mutating func removed(post directory: String) -> [String: String] {
        let files = posts.removeValue(forKey: directory) ?? [:]
        returned.formUnion(files.values)
        for name in files.keys { judge.removed("\(directory)/\(name)") }
        return files
    }

    /// Whether a file or post exists to which the agent's file beside `path` belongs.
    func explains(_ path: String) -> Bool {
        if files[path] != nil { return true }
        guard let slash = path.lastIndex(of: "/"), let post = posts[String(path[..<slash])] else { return false }
        let name = String(path[path.index(after: slash)...])
        return name == "source" || post[name] != nil
    }

    /// Marks a file as cancelled, after the agent has confirmed the cancellation.
    mutating func cancelled(_ path: String) {
        files[path]?.isCancelled = true
        judge.removed(path)
    }
}

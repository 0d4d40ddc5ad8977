import SystemPackage

/// Finds the present paths of contents below `files/`, because owners may have renamed and moved their files.
struct PresentPaths {
    /// Owners may make deeper directories than the receiver (``SafePath/deepest``). Each level takes two descriptors.
    private static let deepest = 128

    private let files: Folder?
    private let objects: ObjectStore
    private let pattern: NamePattern

    /// - Parameter pattern: Of several paths of a content, one that matches goes before the others.
    init(in root: Folder, objects: ObjectStore, pattern: NamePattern) throws(Errno) {
        files = try root.existingFolder("files")
        self.objects = objects
        self.pattern = pattern
    }

    /// Returns the path of each content below `files/USER/`, by token. Contents without any link are missing.
    func paths(of contents: [Content]) throws(Errno) -> [Hex128: String] {
        var paths: [Hex128: String] = [:]
        var moved: [String: [UInt64: Hex128]] = [:]
        for content in contents {
            guard let object = try objects.status(of: content.object) else { continue }
            if let path = try recordedPath(of: content, object) {
                paths[content.token] = path
            } else {
                moved[content.key.user, default: [:]][object.inode] = content.token
            }
        }
        for (user, tokens) in moved {
            guard let folder = try files?.existingFolder(user) else { continue }
            var walk = Walk(tokens: tokens, paths: paths)
            try walk.visit(folder, prefix: "", depth: Self.deepest)
            paths = walk.paths
        }
        return paths
    }

    /// Returns the path from the journal that still leads to the object.
    private func recordedPath(of content: Content, _ object: FileStatus) throws(Errno) -> String? {
        let recorded = content.paths.all.reversed() + [content.name[...]]
        let (matching, others) = (recorded.filter(pattern.matches), recorded.filter { !pattern.matches($0) })
        for path in matching + others {
            guard let status = try status(of: path, user: content.key.user) else { continue }
            if status.isSameFile(as: object) { return String(path) }
        }
        return nil
    }

    private func status(of path: Substring, user: String) throws(Errno) -> FileStatus? {
        var folder = try files?.existingFolder(user)
        var names = path.unicodeScalars.split(separator: "/").map { String($0) }
        guard let name = names.popLast() else { return nil }
        for name in names { folder = try folder?.existingFolder(name) }
        return try folder?.status(of: name)
    }

    /// A walk through the files of a user.
    private struct Walk {
        /// The tokens of the objects without a path so far, by inode.
        var tokens: [UInt64: Hex128]
        var paths: [Hex128: String]

        mutating func visit(_ folder: Folder, prefix: String, depth: Int) throws(Errno) {
            guard depth > 0 else { return }
            try folder.forEachEntry { entry throws(Errno) in
                if !tokens.isEmpty { try visit(entry, of: folder, prefix, depth) }
            }
        }

        private mutating func visit(
            _ entry: Folder.Entry, of folder: Folder, _ prefix: String, _ depth: Int
        ) throws(Errno) {
            if let token = tokens[entry.inode], let name = entry.name, try isFile(name, folder, entry.inode) {
                tokens[entry.inode] = nil
                paths[token] = prefix + name
            } else if entry.mayBeDirectory, let name = entry.name, name != ".", name != "..",
                let subfolder = try folder.existingFolder(name)
            {
                try visit(subfolder, prefix: "\(prefix)\(name)/", depth: depth - 1)
            }
        }

        /// Whether the entry is the file: a mount point's entry has the inode of the directory below it.
        private func isFile(_ name: String, _ folder: Folder, _ inode: UInt64) throws(Errno) -> Bool {
            guard let status = try folder.status(of: name) else { return false }
            return status.isRegular && status.inode == inode
        }
    }
}

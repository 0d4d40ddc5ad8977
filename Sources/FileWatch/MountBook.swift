import UploadCore

/// Keeps book of the mounts below the outbox: which came, and which are away.
struct MountBook {
    /// What tells a file system from another that is mounted in its place; device numbers do not last.
    struct Identity: Equatable {
        var fileSystem: UInt64
        var source: [UInt8]
        var inode: UInt64
        var born: Int64
    }

    /// What changed at a mount point.
    enum Change: Equatable {
        /// The file system that was there is away.
        case lost(RelativePath)
        /// One is there now that was not; `isSame`: it is the one that was lost.
        case mounted(RelativePath, isSame: Bool)
        /// The same file system was mounted anew.
        case remounted(RelativePath)
    }

    private struct Entry {
        var id: UInt64
        var identity: Identity?
    }

    private var present: [RelativePath: Entry]?
    private var away: [RelativePath: Identity?] = [:]

    /// Mount points whose file system is away.
    var lost: Set<RelativePath> { Set(away.keys) }

    /// Number of mount points whose file system is away.
    var lostCount: Int { away.count }

    /// Whether a path lies on a file system that is away.
    func isLost(_ path: RelativePath) -> Bool {
        if away.isEmpty { return false }
        return away.keys.contains { path.isWithin($0) }
    }

    /// Compares with what is mounted now. The first time nothing counts as a change.
    ///
    /// - Parameters:
    ///   - table: the mounts that matter.
    ///   - identify: what is mounted at a path; nil where that cannot be told, and then it counts as another one.
    /// - Returns: the changes, mount points before those below them.
    mutating func update(
        _ table: [RelativePath: MountTable.Mount], identify: (RelativePath, MountTable.Mount) -> Identity?
    ) -> [Change] {
        let before = present
        var entries: [RelativePath: Entry] = [:]
        var changes: [Change] = []
        for (path, mount) in table {
            if let known = before?[path], known.id == mount.id {
                entries[path] = known
                continue
            }
            let identity = identify(path, mount)
            entries[path] = Entry(id: mount.id, identity: identity)
            if let known = before?[path] {
                changes.append(
                    identity != nil && known.identity == identity ? .remounted(path) : .mounted(path, isSame: false))
            } else if before != nil {
                let lost = away.removeValue(forKey: path)
                changes.append(.mounted(path, isSame: identity != nil && lost == .some(identity)))
            }
        }
        for (path, entry) in before ?? [:] where table[path] == nil {
            away[path] = .some(entry.identity)
            changes.append(.lost(path))
        }
        present = entries
        return changes.sorted { $0.path.bytes.lexicographicallyPrecedes($1.path.bytes) }
    }

    /// A directory has another name now.
    mutating func move(from old: RelativePath, to new: RelativePath) {
        present = present.map { Self.moved($0, from: old, to: new) }
        away = Self.moved(away, from: old, to: new)
    }

    private static func moved<Value>(
        _ book: [RelativePath: Value], from old: RelativePath, to new: RelativePath
    ) -> [RelativePath: Value] {
        if !book.keys.contains(where: { $0.isWithin(old) }) { return book }
        return Dictionary(book.map { ($0.moved(from: old, to: new) ?? $0, $1) }) { $1 }
    }
}

extension MountBook.Change {
    var path: RelativePath {
        switch self {
        case .lost(let path), .mounted(let path, _), .remounted(let path): path
        }
    }
}

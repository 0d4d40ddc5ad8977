import UploadCore

/// Tracks the mounts below the outbox: new, replaced and missing ones.
struct MountBook {
    /// Distinguishes a file system from another one mounted in its place; device numbers change between mounts.
    struct Identity: Equatable, Sendable {
        var fileSystem: UInt64
        var source: [UInt8]
        var inode: UInt64
        var born: Int64
    }

    /// What changed at a mount point.
    enum Change: Equatable {
        /// The file system at the mount point was unmounted.
        case lost(RelativePath)
        /// A file system was mounted; `isSame`: whether it is the file system lost earlier at this path.
        case mounted(RelativePath, isSame: Bool)
        /// The same file system was unmounted and mounted again.
        case remounted(RelativePath)
    }

    /// What a file system says about itself.
    enum Answer: Sendable {
        /// nil if it can't be identified, which counts as a different one.
        case known(Identity?)
        /// It does not answer. The caller asks again later.
        case unanswered
    }

    private struct Entry {
        var id: UInt64
        var identity: Identity?
        var isIdentified = true
    }

    private var present: [RelativePath: Entry]?
    private var away: [RelativePath: Identity?] = [:]

    /// Mount points whose file system is missing.
    var lost: Set<RelativePath> { Set(away.keys) }

    /// Number of mount points whose file system is missing.
    var lostCount: Int { away.count }

    /// Whether a path lies on a missing file system.
    func isLost(_ path: RelativePath) -> Bool {
        if away.isEmpty { return false }
        return away.keys.contains { path.isWithin($0) }
    }

    /// Compares the recorded mounts with the present ones. The first call reports no changes.
    ///
    /// - Parameters:
    ///   - table: the present mounts, without ignored paths.
    ///   - identify: returns the identity of the file system at a path.
    /// - Returns: the changes, a mount point before the mount points below it.
    mutating func update(
        _ table: [RelativePath: MountTable.Mount], identify: (RelativePath, MountTable.Mount) -> Answer
    ) -> [Change] {
        let before = present
        var entries: [RelativePath: Entry] = [:]
        var changes: [Change] = []
        for (path, mount) in table {
            if let known = before?[path], known.id == mount.id, known.isIdentified {
                entries[path] = known
                continue
            }
            let known = before?[path]
            guard case .known(let identity) = identify(path, mount) else {
                // A mount that was there from the begin. A later one stays unseen until it answers.
                if before == nil || known?.id == mount.id {
                    entries[path] = Entry(id: mount.id, isIdentified: false)
                } else if let known {
                    entries[path] = known
                }
                continue
            }
            entries[path] = Entry(id: mount.id, identity: identity)
            if known?.id == mount.id { continue }
            if let known {
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

    /// Renames a directory in all recorded paths.
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

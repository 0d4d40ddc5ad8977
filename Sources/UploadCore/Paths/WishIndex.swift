/// Finds the paths that the user cancelled, paused or moved to the head of the queue, by file or by content.
///
/// The index holds a path while the path's record has such a wish. Its size is the number of these paths.
struct WishIndex: Sendable {
    /// What identifies a file regardless of its name.
    private enum Trait: Hashable, Sendable {
        case file(FileIdentity.Mark)
        /// A file with unknown content, which a writer may still have open.
        case inode(UInt64, born: Int64)
        case content(ContentKey)
    }

    private var traits: [RelativePath: [Trait]] = [:]
    private var paths: [Trait: Set<RelativePath>] = [:]

    /// Whether there are no wishes.
    var isEmpty: Bool { traits.isEmpty }

    /// Updates the index after a change of the ledger.
    mutating func take(_ write: LedgerWrite) {
        switch write {
        case .drop(let record): update(record)
        case .forgetDrop(let path): forget(path)
        default: break
        }
    }

    /// Adds or updates the entry of a record.
    mutating func update(_ record: DropRecord) {
        forget(record.path)
        let new = Self.traits(of: record)
        guard !new.isEmpty else { return }
        traits[record.path] = new
        for trait in new { paths[trait, default: []].insert(record.path) }
    }

    private mutating func forget(_ path: RelativePath) {
        guard let old = traits.removeValue(forKey: path) else { return }
        for trait in old {
            paths[trait]?.remove(path)
            if paths[trait]?.isEmpty == true { paths[trait] = nil }
        }
    }

    private static func traits(of record: DropRecord) -> [Trait] {
        guard record.isCancelledByUser || record.state == .paused || record.flags.contains(.first) else { return [] }
        var traits: [Trait] = []
        if let identity = record.identity {
            traits.append(.file(identity.mark))
            let isAtRest = record.key != nil || (record.state == .cancelled && !record.flags.contains(.cancelledEarly))
            // Without a birth time an inode number proves little, since file systems soon reuse it.
            if !isAtRest, identity.born != 0 { traits.append(.inode(identity.inode, born: identity.born)) }
        }
        // A file dropped after the removal is another file, even with the same content.
        if let key = record.key, !record.flags.contains(.fileIsGone) { traits.append(.content(key)) }
        return traits
    }

    /// Returns the paths of records about this file, sorted.
    func paths(of file: FileIdentity) -> [RelativePath] {
        if paths.isEmpty { return [] }
        let same = paths[.file(file.mark)] ?? []
        return same.union(paths[.inode(file.inode, born: file.born)] ?? []).sorted()
    }

    /// Returns the paths of records about this content, in no particular order.
    func paths(of key: ContentKey) -> Set<RelativePath> { paths[.content(key)] ?? [] }

    /// Whether the wish for a path applies to its content as well.
    func followsContent(of path: RelativePath) -> Bool {
        traits[path]?.contains { if case .content = $0 { true } else { false } } ?? false
    }
}

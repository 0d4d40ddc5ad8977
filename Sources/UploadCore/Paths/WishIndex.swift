/// Finds the paths whose files the user cancelled, paused or moved to the head of the queue: by the file, and by its
/// content.
///
/// A path is in it as long as its record says so. There are as many entries as the user has wishes.
struct WishIndex: Sendable {
    /// What tells a file from others, whatever its name.
    private enum Trait: Hashable, Sendable {
        case file(FileIdentity.Mark)
        /// Of a file whose content is not known: it may still be written.
        case inode(UInt64, born: Int64)
        case content(ContentKey)
    }

    private var traits: [RelativePath: [Trait]] = [:]
    private var paths: [Trait: Set<RelativePath>] = [:]

    /// Whether nobody wants anything.
    var isEmpty: Bool { traits.isEmpty }

    /// Follows a change of the ledger.
    mutating func take(_ write: LedgerWrite) {
        switch write {
        case .drop(let record): update(record)
        case .forgetDrop(let path): forget(path)
        default: break
        }
    }

    /// Takes a record in that is new or another.
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
            // Without a birth time an inode number says little: it is used again soon.
            if !isAtRest, identity.born != 0 { traits.append(.inode(identity.inode, born: identity.born)) }
        }
        // What is dropped after the file was removed is another file, even with the same content.
        if let key = record.key, !record.flags.contains(.fileIsGone) { traits.append(.content(key)) }
        return traits
    }

    /// The paths whose records are about this very file, ordered.
    func paths(of file: FileIdentity) -> [RelativePath] {
        if paths.isEmpty { return [] }
        let same = paths[.file(file.mark)] ?? []
        return same.union(paths[.inode(file.inode, born: file.born)] ?? []).sorted()
    }

    /// The paths whose records are about a content, in no particular order.
    func paths(of key: ContentKey) -> Set<RelativePath> { paths[.content(key)] ?? [] }

    /// Whether what is wanted of a path is wanted of its content.
    func followsContent(of path: RelativePath) -> Bool {
        traits[path]?.contains { if case .content = $0 { true } else { false } } ?? false
    }
}

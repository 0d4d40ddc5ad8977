/// Finds the paths that the user cancelled, paused or moved to the head of the queue, by file.
///
/// Of files with known content it holds only those of late, since the user may cancel a million: the ledger leads from a
/// content to its paths (`PathFacts.storedRecords`), so an older file is recognised once it is hashed.
struct WishIndex: Sendable {
    /// What identifies a file regardless of its name.
    private enum Trait: Hashable, Sendable {
        case file(FileIdentity.Mark)
        /// A file with unknown content, which a writer may still have open.
        case inode(UInt64, born: Int64)
    }

    /// How many files with known content are certainly held.
    private static let generation = 4096
    /// The maximum number of names of such a file.
    private static let mostNames = 100

    /// Files with unknown content: their number is bounded by the files under way, and by single wishes of users.
    private var traits: [RelativePath: [Trait]] = [:]
    private var paths: [Trait: Set<RelativePath>] = [:]
    /// Files with known content. The records of their paths may have changed since.
    private var recent = RecentTable<FileIdentity.Mark, Set<RelativePath>>(generation: generation)

    /// Whether there has been no wish in this run.
    private(set) var isEmpty = true

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
        guard record.bearsWish else { return }
        isEmpty = false
        guard let file = record.identity else { return }
        if record.key != nil {
            return recent.update(file.mark) { names in
                if names?.count ?? 0 < Self.mostNames { names = (names ?? []).union([record.path]) }
            }
        }
        // Without a birth time an inode number proves little, since file systems soon reuse it.
        let new =
            [Trait.file(file.mark)]
            + (record.isAtRest || file.born == 0 ? [] : [.inode(file.inode, born: file.born)])
        traits[record.path] = new
        for trait in new { paths[trait, default: []].insert(record.path) }
    }

    private mutating func forget(_ path: RelativePath) {
        if traits.isEmpty { return }
        guard let old = traits.removeValue(forKey: path) else { return }
        for trait in old {
            paths[trait]?.remove(path)
            if paths[trait]?.isEmpty == true { paths[trait] = nil }
        }
    }

    /// Returns the paths of records that may be about this file (`DropRecord.bearsWish(for:)`), sorted.
    func paths(of file: FileIdentity) -> [RelativePath] {
        if isEmpty { return [] }
        var found = recent[file.mark] ?? []
        if !paths.isEmpty {
            found.formUnion(paths[.file(file.mark)] ?? [])
            found.formUnion(paths[.inode(file.inode, born: file.born)] ?? [])
        }
        return found.sorted()
    }
}

extension DropRecord {
    /// Whether the user cancelled, paused or hurried the file.
    var bearsWish: Bool { isCancelledByUser || state == .paused || flags.contains(.first) }

    /// Whether the user's wish is about this file, whatever its name.
    func bearsWish(for file: FileIdentity) -> Bool {
        guard bearsWish, let identity else { return false }
        if identity.mark == file.mark { return true }
        return !isAtRest && identity.born != 0 && isAboutInode(of: file)
    }

    /// Whether the user's wish applies to the record's content, so that it follows the content to another name. A file
    /// dropped after the removal is another file, even with the same content.
    var wishFollowsContent: Bool { bearsWish && key != nil && !flags.contains(.fileIsGone) }

    /// Whether no writer is expected to change the file any more.
    fileprivate var isAtRest: Bool { key != nil || (state == .cancelled && !flags.contains(.cancelledEarly)) }
}

/// User actions on paths whose content is still unknown. `PathBook` applies them once the content is hashed.
struct EarlyWishes: Sendable {
    /// Paths to pause.
    var paused: Set<RelativePath> = []
    /// Paths to move to the head of the queue.
    var first: Set<RelativePath> = []
    /// Paths cancelled while a writer had the file open. The cancellation applies to the file once it settles.
    var cancelled: Set<RelativePath> = []

    /// Whether the ledger must hold a record of the path because of a pause or a move to the head of the queue.
    func areKept(for path: RelativePath) -> Bool { paused.contains(path) || first.contains(path) }

    mutating func rename(_ old: RelativePath, to new: RelativePath) {
        if paused.remove(old) != nil { paused.insert(new) }
        if first.remove(old) != nil { first.insert(new) }
        if cancelled.remove(old) != nil { cancelled.insert(new) }
    }

    mutating func forget(_ path: RelativePath) {
        paused.remove(path)
        first.remove(path)
        cancelled.remove(path)
    }
}

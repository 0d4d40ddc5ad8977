import UploadCore

/// The index of directories: with it, a walk finds the drops below a directory without scanning all drops.
///
/// The key of a drop begins with the hash of its directory. This index leads from a directory to its subdirectories: an
/// entry is the hash of a directory followed by the hash of a subdirectory that holds a drop at any depth. So
/// `a/b/c.jpg` makes one entry, `hash(a) · hash(a/b)`. The outbox itself has no entries.
struct DirectoryIndex {
    /// The hash of a directory's path; replaced only in tests.
    var hash: @Sendable (ArraySlice<UInt8>) -> UInt64 = { LedgerKeys.hash($0) }

    private static let table = LedgerTable.directories.table

    /// Adds the directory of a new drop. Idempotent.
    func add(_ path: RelativePath, in transaction: borrowing WriteTransaction) throws(LMDBError) {
        var directory = path.parent
        while directory.parent != .root {
            let key = LedgerKeys.hashed(hash(directory.parentBytes), hash(directory.bytes[...]))
            // An indexed directory is indexed in its parent directories as well.
            if try transaction.reading.get(Self.table, key, { _ in true }) != nil { return }
            var encoder = RecordEncoder()
            encoder.encodeIndexEntry(of: .directories, key: key)
            try transaction.put(Self.table, key, encoder.bytes)
            directory = directory.parent
        }
    }

    /// Removes each directory that became empty with the removal of a drop.
    func remove(_ path: RelativePath, in transaction: borrowing WriteTransaction) throws(LMDBError) {
        var directory = path.parent
        while directory.parent != .root {
            let (parent, own) = (hash(directory.parentBytes), hash(directory.bytes[...]))
            let bucket = LedgerKeys.hashed(own)
            for table in [LedgerTable.drops.table, Self.table] {
                if try transaction.reading.hasKey(of: table, startingWith: bucket) { return }
            }
            try transaction.remove(Self.table, LedgerKeys.hashed(parent, own))
            directory = directory.parent
        }
    }
}

import UploadCore

/// The index of directories: finds the drops below a directory without scanning all drops.
///
/// An entry is the hash of a directory followed by one child: the key of a drop in the directory, or the hash of a
/// subdirectory that holds a drop at any depth. So `a/b/c.jpg` makes two entries, `hash(a/b) · key(a/b/c.jpg)` and
/// `hash(a) · hash(a/b)`, and `a/b/d.jpg` one more. The outbox itself has no entries.
struct DirectoryIndex {
    /// The 16-byte hash of a path; replaced only in tests.
    var hash: @Sendable ([UInt8]) -> [UInt8] = LedgerKeys.pathHash

    private static let table = LedgerTable.directories.table
    private static let hashSize = 16
    private static let entriesPerPage = 512

    /// Adds a drop. Idempotent.
    func add(_ path: RelativePath, _ slot: [UInt8], in transaction: borrowing WriteTransaction) throws(LMDBError) {
        var entry = slot
        var directory = path.parent
        var encoder = RecordEncoder()
        while directory != .root {
            let bucket = hash(directory.bytes)
            let key = bucket + entry
            if try transaction.reading.get(Self.table, key, { _ in true }) != nil {
                // An indexed directory is indexed in its parent directories as well.
                if entry.count == Self.hashSize { return }
            } else {
                encoder.encodeIndexEntry(of: .directories, key: key)
                try transaction.put(Self.table, key, encoder.bytes)
            }
            entry = bucket
            directory = directory.parent
        }
    }

    /// Removes a drop, and each directory that becomes empty.
    func remove(_ path: RelativePath, _ slot: [UInt8], in transaction: borrowing WriteTransaction) throws(LMDBError) {
        var entry = slot
        var directory = path.parent
        while directory != .root {
            let bucket = hash(directory.bytes)
            try transaction.remove(Self.table, bucket + entry)
            var isEmpty = true
            try transaction.reading.scan(Self.table, from: bucket) { key, _ in
                isEmpty = !key.starts(with: bucket)
                return false
            }
            if !isEmpty { return }
            entry = bucket
            directory = directory.parent
        }
    }

    /// Adds every drop of the ledger.
    func build(in transaction: borrowing WriteTransaction) throws(LMDBError) {
        var next: [UInt8]? = []
        while let start = next {
            let page = try transaction.reading.page(of: LedgerTable.drops.table, from: start) { slot, value in
                (path: DropRecord.path(in: value, key: slot).flatMap { RelativePath($0) }, slot: slot)
            }
            // A damaged record enters the index when it is replaced.
            for case (let path?, let slot) in page.entries { try add(path, slot, in: transaction) }
            next = page.next
        }
    }

    /// Returns some entries of a directory, with the records of its drops.
    ///
    /// - Parameter start: the first key to read.
    static func page(
        of bucket: [UInt8], from start: [UInt8], in transaction: borrowing ReadTransaction
    ) throws(LMDBError) -> DirectoryPage {
        var slots: [[UInt8]] = []
        var page = DirectoryPage()
        var count = 0
        try transaction.scan(table, from: start) { key, _ in
            guard key.starts(with: bucket) else { return false }
            let entry = Array(key.dropFirst(bucket.count))
            if entry.count == hashSize { page.directories.append(entry) } else { slots.append(entry) }
            count += 1
            if count == entriesPerPage { page.next = Array(key) + [0] }
            return count < entriesPerPage
        }
        for slot in slots {
            let record = try transaction.get(LedgerTable.drops.table, slot) { DropRecord.decode($0, key: slot) }
            if let record { page.drops.append(record) }
        }
        return page
    }
}

/// Some of a directory's index entries.
struct DirectoryPage {
    var drops: [Result<DropRecord, LedgerError>] = []
    /// Hashes of the subdirectories.
    var directories: [[UInt8]] = []
    /// The key to read next; nil at the end of the directory's entries.
    var next: [UInt8]?
}

import UploadCore

/// Finds drops by path although keys are hashes. A key is the hash of the directory, the hash of the name, and an ordinal,
/// which is 0 unless another path has the same hashes. So drops of one directory are neighbors: what happens in one
/// directory changes few pages.
struct DropTable: Sendable {
    /// The hash of a directory or a name; replaced only in tests, to make paths collide.
    var hash: @Sendable (ArraySlice<UInt8>) -> UInt64 = { LedgerKeys.hash($0) }

    /// Returns the key of a path's record without the ordinal.
    func prefix(of path: RelativePath) -> [UInt8] { LedgerKeys.hashed(hash(path.parentBytes), hash(path.name)) }

    /// The place of a path's record, existing or new.
    struct Slot {
        var key: [UInt8]
        /// The record; nil if none exists, a failure if the record is damaged.
        var record: Result<DropRecord, LedgerError>?
    }

    /// Looks up a path. A damaged record counts as the path's record, because its own path is unreadable.
    func slot(of path: RelativePath, in transaction: borrowing ReadTransaction) throws(LMDBError) -> Slot {
        let prefix = prefix(of: path)
        // Nearly always, the path's record is the only one with its hashes.
        let first = prefix + [0]
        let record = try transaction.get(LedgerTable.drops.table, first) { DropRecord.decode($0, key: first) }
        if let record, belongs(record, to: path) { return Slot(key: first, record: record) }
        var found: Slot?
        var free: UInt8 = 0
        try transaction.scan(LedgerTable.drops.table, from: prefix + [0]) { key, value in
            guard key.count == prefix.count + 1, key.starts(with: prefix), let ordinal = key.last else { return false }
            if ordinal == free { free &+= 1 }
            let record = DropRecord.decode(value, key: Array(key))
            if !belongs(record, to: path) { return true }
            found = Slot(key: Array(key), record: record)
            return false
        }
        return found ?? Slot(key: prefix + [free], record: nil)
    }

    private func belongs(_ record: Result<DropRecord, LedgerError>, to path: RelativePath) -> Bool {
        if case .success(let drop) = record { drop.path == path } else { true }
    }

    /// Returns what the drop at a path counts as; nil if there is no drop, or if its record is damaged.
    func tally(of path: RelativePath, in transaction: borrowing ReadTransaction) throws(LMDBError) -> Tally? {
        let key = prefix(of: path) + [0]
        let first = try transaction.get(LedgerTable.drops.table, key) { value in
            DropRecord.outline(in: value, key: key).flatMap { $0.path.elementsEqual(path.bytes) ? $0.tally : nil }
        }
        guard let first else { return nil }
        if let first { return first }
        // Another path has the same hash, or the record is damaged.
        guard case .success(let record)? = try slot(of: path, in: transaction).record else { return nil }
        return record.tally
    }

    /// Stores a drop and updates the indexes of contents and directories.
    ///
    /// - Returns: what the drop counted as; nil if the drop is new, a failure if its record was damaged.
    func store(
        _ record: DropRecord, in transaction: borrowing WriteTransaction, encoder: inout RecordEncoder
    ) throws(LMDBError) -> Result<Tally, LedgerError>? {
        let slot = try slot(of: record.path, in: transaction.reading)
        let known = try? slot.record?.get()
        try StartIndex.update(slot.key, from: slot.record, to: record, in: transaction)
        if known == nil { try directories.add(record.path, in: transaction) }
        let old = known?.key
        if old != record.key {
            if let old { try transaction.remove(LedgerTable.contents.table, LedgerKeys.content(old) + slot.key) }
            if let new = record.key {
                try transaction.put(LedgerTable.contents.table, LedgerKeys.content(new) + slot.key, [])
            }
        }
        record.encode(into: &encoder, key: slot.key)
        try transaction.put(LedgerTable.drops.table, slot.key, encoder.bytes)
        return slot.record?.map(\.tally)
    }

    /// Removes a drop.
    ///
    /// - Returns: what the drop counted as; nil if there was no drop, a failure if its record was damaged.
    func remove(
        _ path: RelativePath, in transaction: borrowing WriteTransaction
    ) throws(LMDBError) -> Result<Tally, LedgerError>? {
        let slot = try slot(of: path, in: transaction.reading)
        guard let record = slot.record else { return nil }
        if let key = (try? record.get())?.key {
            try transaction.remove(LedgerTable.contents.table, LedgerKeys.content(key) + slot.key)
        }
        try StartIndex.update(slot.key, from: record, to: nil, in: transaction)
        try transaction.remove(LedgerTable.drops.table, slot.key)
        try directories.remove(path, in: transaction)
        return record.map(\.tally)
    }

    private var directories: DirectoryIndex { DirectoryIndex(hash: hash) }
}

import UploadCore

/// Applies changes inside a write transaction.
struct LedgerChanges {
    let drops: DropTable
    var encoder = RecordEncoder()
    private var states = StateChange()
    private var journal = JournalTable()

    init(drops: DropTable) {
        self.drops = drops
    }

    mutating func apply(_ write: LedgerWrite, in transaction: borrowing WriteTransaction) throws(LMDBError) {
        switch write {
        case .drop(let record):
            let former = try drops.store(record, in: transaction, encoder: &encoder)
            states.add(from: former, to: record.tally)
        case .forgetDrop(let path):
            states.add(from: try drops.remove(path, in: transaction), to: nil)
        case .upload(let record):
            try store(record, in: transaction)
        case .fragments(let key, let page):
            try put(page, LedgerKeys.page(key, page.index), in: transaction)
        case .forgetFragments(let key):
            try removeAll(.fragments, of: key, in: transaction)
        case .forgetUpload(let key):
            try removeUpload(key, in: transaction)
            try removeAll(.fragments, of: key, in: transaction)
            try removeDigests(of: key, in: transaction)
        case .digests(let key, let digests):
            try put(digests, of: key, in: transaction)
        case .confirmation(let record):
            // If two scopes share a hash, the newer confirmation wins, and the agent asks the server for the other
            // again.
            try put(record, LedgerKeys.scoped(record.key, record.scope), in: transaction)
        case .forgetConfirmation(let key, let scope):
            try transaction.remove(LedgerTable.confirmations.table, LedgerKeys.scoped(key, scope))
        case .park(let key):
            try park(key, in: transaction)
        case .unpark(let key, let scope):
            try unpark(key, scope, in: transaction)
        case .forgetParked(let key, let scope):
            try forgetParked(key, scope, in: transaction)
        case .product(let record):
            try put(record, record.key, in: transaction)
        case .source(let record):
            try put(record, LedgerKeys.source(record.id), in: transaction)
        case .forgetSource(let id):
            try transaction.remove(LedgerTable.sources.table, LedgerKeys.source(id))
        case .removal(let handle, let scope):
            let record = RemovalRecord(handle, scope)
            try put(record, record.key, in: transaction)
        case .forgetRemoval(let handle, let scope):
            try transaction.remove(LedgerTable.removals.table, RemovalRecord(handle, scope).key)
        case .outcome(let entry): try journal.append(entry, in: transaction, encoder: &encoder)
        case .place(let path, let now): try journal.move(path, to: now, in: transaction, encoder: &encoder)
        case .trimJournal(let number): try journal.trim(before: number, in: transaction)
        case .setting(let name, let value?):
            try put(SettingRecord(value: value), Array(name.utf8), in: transaction)
        case .setting(let name, nil):
            try transaction.remove(LedgerTable.settings.table, Array(name.utf8))
        }
    }

    /// Stores totals over all changes. Must be called once, after the last change of the transaction.
    func finish(in transaction: borrowing WriteTransaction) throws(LMDBError) {
        try states.store(in: transaction)
    }

    /// Stores an upload and its place in the queue.
    mutating func store(_ record: UploadRecord, in transaction: borrowing WriteTransaction) throws(LMDBError) {
        try QueueIndex.move(record.key, to: record.place, in: transaction)
        try put(record, LedgerKeys.content(record.key), in: transaction)
    }

    /// Removes an upload's record and its place in the queue.
    func removeUpload(_ key: ContentKey, in transaction: borrowing WriteTransaction) throws(LMDBError) {
        try QueueIndex.move(key, to: nil, in: transaction)
        try transaction.remove(LedgerTable.uploads.table, LedgerKeys.content(key))
    }

    private mutating func put(
        _ digests: [UInt64], of key: ContentKey, in transaction: borrowing WriteTransaction
    ) throws(LMDBError) {
        try removeAll(.digests, of: key, in: transaction)
        for (index, start) in stride(from: 0, to: digests.count, by: DigestPage.blocks).enumerated() {
            let page = DigestPage(digests: Array(digests[start..<min(start + DigestPage.blocks, digests.count)]))
            try put(page, LedgerKeys.page(key, index), in: transaction)
        }
    }

    mutating func put<Record: StoredRecord>(
        _ record: Record, _ key: [UInt8], in transaction: borrowing WriteTransaction
    ) throws(LMDBError) {
        record.encode(into: &encoder, key: key)
        try transaction.put(Record.table.table, key, encoder.bytes)
    }

    func removeAll(
        _ table: LedgerTable, of key: ContentKey, in transaction: borrowing WriteTransaction
    ) throws(LMDBError) {
        // Collected first: removing a cursor's current entry through another call invalidates the cursor.
        for page in try transaction.reading.keys(table.table, prefix: LedgerKeys.content(key)) {
            try transaction.remove(table.table, page)
        }
    }
}

extension ReadTransaction {
    /// Returns the keys that begin with a prefix.
    func keys(_ table: Table, prefix: [UInt8]) throws(LMDBError) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        try scan(table, from: prefix) { key, _ in
            guard key.starts(with: prefix) else { return false }
            keys.append(Array(key))
            return true
        }
        return keys
    }
}

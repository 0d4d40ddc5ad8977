import UploadCore

/// The index that is the queue: the places of all uploads, in the order of sending. Parked uploads have no place.
///
/// The key of an entry is the place (`LedgerKeys.place`). Each upload has one entry, written in the transaction that
/// writes the upload.
enum QueueIndex {
    private static let table = LedgerTable.queue.table

    /// Changes the place of an upload. Must be called before the transaction changes the upload's record.
    ///
    /// - Parameter place: the new place; nil if the upload leaves the queue.
    static func move(
        _ key: ContentKey, to place: QueuePlace?, in transaction: borrowing WriteTransaction
    ) throws(LMDBError) {
        let slot = LedgerKeys.content(key)
        let stored = try transaction.reading.get(LedgerTable.uploads.table, slot) { UploadRecord.decode($0, key: slot) }
        switch stored {
        case .success(let record)?:
            if record.place == place { return }
            try transaction.remove(table, LedgerKeys.place(record.place))
        case .failure?:
            // The order in a damaged record is unreadable.
            try removeEntries(of: slot, in: transaction)
        case nil: break
        }
        if let place { try add(place, in: transaction) }
    }

    /// Returns uploads by ascending place.
    ///
    /// - Parameters:
    ///   - start: the first key to read.
    ///   - count: the maximum number of uploads.
    /// - Returns: the uploads, and the key to read next; nil at the end of the queue.
    static func page(
        from start: [UInt8], atMost count: Int, in transaction: borrowing ReadTransaction
    ) throws(LMDBError) -> (uploads: [Result<UploadRecord, LedgerError>], next: [UInt8]?) {
        let page = try transaction.page(of: table, from: start, atMost: count) { key, _ in key }
        var uploads: [Result<UploadRecord, LedgerError>] = []
        for entry in page.entries { uploads.append(try upload(at: entry, in: transaction)) }
        return (uploads, page.next)
    }

    /// Returns the first and the last place; nil if there is none.
    static func ends(
        in transaction: borrowing ReadTransaction
    ) throws(LMDBError) -> (first: QueuePlace, last: QueuePlace)? {
        guard let keys = try transaction.ends(of: table), let first = LedgerKeys.queuePlace(keys.first),
            let last = LedgerKeys.queuePlace(keys.last)
        else { return nil }
        return (first, last)
    }

    private static func add(
        _ place: QueuePlace, in transaction: borrowing WriteTransaction
    ) throws(LMDBError) {
        let key = LedgerKeys.place(place)
        var encoder = RecordEncoder()
        encoder.encodeIndexEntry(of: .queue, key: key)
        try transaction.put(table, key, encoder.bytes)
    }

    /// Removes the entries of a content. Reads the whole queue.
    private static func removeEntries(
        of slot: [UInt8], in transaction: borrowing WriteTransaction
    ) throws(LMDBError) {
        var found: [[UInt8]] = []
        try transaction.reading.scan(table, from: []) { key, _ in
            if key.suffix(slot.count).elementsEqual(slot) { found.append(Array(key)) }
            return true
        }
        for entry in found { try transaction.remove(table, entry) }
    }

    private static func upload(
        at entry: [UInt8], in transaction: borrowing ReadTransaction
    ) throws(LMDBError) -> Result<UploadRecord, LedgerError> {
        let damage = LedgerError.damagedRecord(table: .queue, key: entry)
        guard entry.count == LedgerKeys.placeSize else { return .failure(damage) }
        let slot = Array(entry.suffix(LedgerKeys.contentSize))
        let stored = try transaction.get(LedgerTable.uploads.table, slot) { UploadRecord.decode($0, key: slot) }
        guard case .success(let record)? = stored else { return stored ?? .failure(damage) }
        return LedgerKeys.place(record.place) == entry ? .success(record) : .failure(damage)
    }
}

import UploadCore

/// The index of the drops that the agent must know from its start (`DropRecord.isNeededAtStart`), so that a start reads
/// these few and not all.
///
/// The key of an entry is the drop's key in `drops`.
enum StartIndex {
    private static let table = LedgerTable.start.table

    /// Adds or removes a drop after a change of its record.
    ///
    /// - Parameters:
    ///   - former: the record until now; nil if there was none, a failure if the record was damaged.
    ///   - present: the new record; nil if the drop is removed.
    static func update(
        _ slot: [UInt8], from former: Result<DropRecord, LedgerError>?, to present: DropRecord?,
        in transaction: borrowing WriteTransaction
    ) throws(LMDBError) {
        let isNeeded = present?.isNeededAtStart ?? false
        let wasNeeded = former.map { (try? $0.get().isNeededAtStart) ?? !isNeeded } ?? false
        if isNeeded == wasNeeded { return }
        if isNeeded { try add(slot, in: transaction) } else { try transaction.remove(table, slot) }
    }

    private static func add(_ slot: [UInt8], in transaction: borrowing WriteTransaction) throws(LMDBError) {
        var encoder = RecordEncoder()
        encoder.encodeIndexEntry(of: .start, key: slot)
        try transaction.put(table, slot, encoder.bytes)
    }

    /// Returns some of the drops.
    ///
    /// - Parameter start: the first key to read.
    /// - Returns: the records, and the key to read next; nil at the end.
    static func page(
        from start: [UInt8], in transaction: borrowing ReadTransaction
    ) throws(LMDBError) -> (drops: [Result<DropRecord, LedgerError>], next: [UInt8]?) {
        let page = try transaction.page(of: table, from: start) { slot, _ in slot }
        var drops: [Result<DropRecord, LedgerError>] = []
        for slot in page.entries {
            let record = try transaction.get(LedgerTable.drops.table, slot) { DropRecord.decode($0, key: slot) }
            if let record { drops.append(record) }
        }
        return (drops, page.next)
    }
}

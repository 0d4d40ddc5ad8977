import UploadCore

// Parked uploads. Their block digests stay in place: the digests describe the content, whichever account uploads it.
extension LedgerChanges {
    mutating func park(_ key: ContentKey, in transaction: borrowing WriteTransaction) throws(LMDBError) {
        let slot = LedgerKeys.content(key)
        let stored = try transaction.reading.get(LedgerTable.uploads.table, slot) { UploadRecord.decode($0, key: slot) }
        guard let stored else { return }
        let pages = try transaction.reading.fragmentPages(of: key).compactMap { try? $0.get() }
        try removeUpload(key, in: transaction)
        try removeAll(.fragments, of: key, in: transaction)
        // A damaged record's account is unreadable; the next upload of the content must not inherit its fragments.
        guard case .success(let upload) = stored else { return try removeDigests(of: key, in: transaction) }
        try put(
            ParkedUpload(upload: upload, pages: pages), LedgerKeys.scoped(key, upload.scope), in: transaction)
    }

    mutating func unpark(
        _ key: ContentKey, _ scope: RemoteScope, in transaction: borrowing WriteTransaction
    ) throws(LMDBError) {
        let slot = LedgerKeys.scoped(key, scope)
        let stored = try transaction.reading.get(LedgerTable.parked.table, slot) { ParkedUpload.decode($0, key: slot) }
        guard let stored else { return }
        guard case .success(let parked) = stored else { return try forgetParked(key, scope, in: transaction) }
        // Two scopes may share a hash, as with confirmations.
        guard parked.upload.scope == scope else { return }
        try transaction.remove(LedgerTable.parked.table, slot)
        try removeAll(.fragments, of: key, in: transaction)
        try store(parked.upload, in: transaction)
        for page in parked.pages { try put(page, LedgerKeys.page(key, page.index), in: transaction) }
    }

    func forgetParked(
        _ key: ContentKey, _ scope: RemoteScope, in transaction: borrowing WriteTransaction
    ) throws(LMDBError) {
        try transaction.remove(LedgerTable.parked.table, LedgerKeys.scoped(key, scope))
        try removeDigests(of: key, in: transaction)
    }

    /// Removes a content's block digests unless an upload, parked or not, still needs them.
    func removeDigests(of key: ContentKey, in transaction: borrowing WriteTransaction) throws(LMDBError) {
        if try transaction.reading.needsDigests(LedgerKeys.content(key)) { return }
        try removeAll(.digests, of: key, in: transaction)
    }
}

extension ReadTransaction {
    /// Returns the pages of an upload's fragment states, in order.
    func fragmentPages(of key: ContentKey) throws(LMDBError) -> [Result<FragmentPage, LedgerError>] {
        let prefix = LedgerKeys.content(key)
        var pages: [Result<FragmentPage, LedgerError>] = []
        try scan(LedgerTable.fragments.table, from: prefix) { entry, value in
            guard entry.starts(with: prefix) else { return false }
            pages.append(FragmentPage.decode(value, key: Array(entry)))
            return true
        }
        return pages
    }

    /// Whether an upload of a content exists, by the bytes of the content's key.
    func hasUpload(_ content: [UInt8]) throws(LMDBError) -> Bool {
        try get(LedgerTable.uploads.table, content) { _ in true } ?? false
    }

    /// Whether an upload of a content exists, parked or not, by the bytes of the content's key.
    func needsDigests(_ content: [UInt8]) throws(LMDBError) -> Bool {
        var found = try hasUpload(content)
        if found { return true }
        try scan(LedgerTable.parked.table, from: content) { key, _ in
            found = key.starts(with: content)
            return false
        }
        return found
    }
}

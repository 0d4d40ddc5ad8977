import UploadCore

/// The durable writes, as the ledger would store them.
struct FakeLedger {
    var uploads: [ContentKey: UploadRecord] = [:]
    var pages: [ContentKey: [Int: FragmentPage]] = [:]
    var confirmations: [ContentKey: Confirmation] = [:]
    /// The ids still to delete on the server.
    var removalSet: Set<RemoteHandle> = []

    mutating func apply(_ write: LedgerWrite) {
        switch write {
        case .upload(let record): uploads[record.key] = record
        case .fragments(let key, let page): pages[key, default: [:]][page.index] = page
        case .forgetFragments(let key): pages[key] = nil
        case .forgetUpload(let key):
            uploads[key] = nil
            pages[key] = nil
        case .confirmation(let confirmation): confirmations[confirmation.key] = confirmation
        case .forgetConfirmation(let key, _): confirmations[key] = nil
        case .removal(let handle, _): removalSet.insert(handle)
        case .forgetRemoval(let handle, _): removalSet.remove(handle)
        case .drop, .forgetDrop, .digests, .source, .forgetSource, .product: break
        // The machine makes none of these writes.
        case .park, .unpark, .forgetParked, .setting, .outcome, .place, .trimJournal: break
        }
    }

    func acknowledged(_ key: ContentKey) -> FragmentSet {
        var words: [UInt64] = []
        for (index, page) in (pages[key] ?? [:]).sorted(by: { $0.key < $1.key }) {
            words += Array(repeating: 0, count: index * FragmentPage.fragments / 64 - words.count) + page.words
        }
        return FragmentSet(words: words)
    }

    func receipts(_ key: ContentKey) -> [Int: String] {
        (pages[key] ?? [:]).values.reduce(into: [:]) { $0.merge($1.receipts) { $1 } }
    }

    /// Returns an upload with its waiters, as the machine reads it.
    func stored(_ key: ContentKey, waiters: (ContentKey) -> [RestoredWaiter]) -> StoredUpload? {
        uploads[key].map {
            StoredUpload(record: $0, acknowledged: acknowledged(key), receipts: receipts(key), waiters: waiters(key))
        }
    }

    /// The places of all uploads, in the order of the queue.
    var queue: [QueuePlace] { uploads.values.map(\.place).sorted() }

    /// The ids still to delete on the server, sorted.
    var removals: [RemoteHandle] { removalSet.sorted { $0.id < $1.id } }
}

/// The uploads of a fake ledger, with the waiters that the agent knows.
struct FakeStoredUploads: StoredUploads {
    let ledger: FakeLedger
    let waiters: [ContentKey: [RestoredWaiter]]
    /// Whether every read fails.
    var isBroken = false

    func upload(of key: ContentKey) throws(UnreadableUpload) -> StoredUpload? {
        if isBroken { throw UnreadableUpload() }
        return ledger.stored(key) { waiters[$0] ?? [] }
    }

    func uploads(after place: QueuePlace, atMost count: Int) -> StoredPage? {
        if isBroken { return nil }
        let page = ledger.queue.filter { $0 > place }.prefix(count)
        return StoredPage(
            uploads: page.compactMap { try? upload(of: $0.key) }, next: page.count < count ? nil : page.last)
    }
}

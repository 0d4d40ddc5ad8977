public import UploadCore

/// A place among all drops, or among those below a directory, where a page begins (`Ledger.drops(within:from:)`).
public struct DropPosition: Hashable, Sendable {
    /// The place before all drops.
    public static let first = DropPosition()

    /// The first key to read; nil at the beginning of a directory.
    fileprivate var key: [UInt8]?
    /// The hashes of the directories still to read. The last one comes next.
    fileprivate var directories: [UInt64] = []
    /// The hashes of all directories so far. Paths with equal hashes could form a cycle.
    fileprivate var seen: Set<UInt64> = []
}

// A damaged record counts as absent: the agent determines its facts again, and the next write replaces the record.
extension Ledger {
    /// The maximum number of records in a page.
    private static let mostRecords = 512

    /// Returns the record of a path; nil if none exists.
    public func drop(at path: RelativePath) throws(LedgerError) -> DropRecord? {
        try read { transaction throws(LMDBError) in try drops.slot(of: path, in: transaction).record }
    }

    /// Returns the paths that have a content, in no particular order.
    ///
    /// - Parameter count: the maximum number of paths.
    public func drops(of key: ContentKey, atMost count: Int = .max) throws(LedgerError) -> [RelativePath] {
        let prefix = LedgerKeys.content(key)
        return try read { transaction throws(LMDBError) in
            var slots: [[UInt8]] = []
            try transaction.scan(LedgerTable.contents.table, from: prefix) { entry, _ in
                guard entry.starts(with: prefix) else { return false }
                slots.append(Array(entry.dropFirst(prefix.count)))
                return slots.count < count
            }
            var paths: [RelativePath] = []
            for slot in slots {
                let record = try transaction.get(LedgerTable.drops.table, slot) { DropRecord.decode($0, key: slot) }
                switch record {
                // A record that was damaged when it was replaced leaves a stale index entry.
                case .success(let record) where record.key == key: paths.append(record.path)
                case .success, nil: continue
                case .failure(let found): damage.note(found)
                }
            }
            return .success(paths)
        } ?? []
    }

    /// Returns one of the paths that have a content; nil if none does.
    public func anyDrop(of key: ContentKey) throws(LedgerError) -> DropRecord? {
        let prefix = LedgerKeys.content(key)
        return try read { transaction throws(LMDBError) in
            var slots: [[UInt8]] = []
            // A record that was damaged when it was replaced leaves a stale index entry, so the first entry may be
            // stale.
            try transaction.scan(LedgerTable.contents.table, from: prefix) { entry, _ in
                guard entry.starts(with: prefix) else { return false }
                slots.append(Array(entry.dropFirst(prefix.count)))
                return slots.count < 4
            }
            for slot in slots {
                let record = try transaction.get(LedgerTable.drops.table, slot) { DropRecord.decode($0, key: slot) }
                if case .success(let record)? = record, record.key == key { return .success(record) }
            }
            return nil
        }
    }

    /// Calls `body` with every drop, in no particular order, until `body` returns false.
    ///
    /// Drops are read some hundred at a time, and `body` runs between the transactions: `body` may be slow and use
    /// the ledger. Drops that change meanwhile appear in either state.
    ///
    /// - Parameter damaged: called for each unreadable record; the scan continues.
    public func forEachDrop(
        _ body: (DropRecord) -> Bool, damaged: (LedgerError) -> Void = { _ in }
    ) throws(LedgerError) {
        try forEach(DropRecord.self, body, damaged: damaged)
    }

    /// Calls `body` with every drop that the agent must know from its start (`DropRecord.isNeededAtStart`); see
    /// `forEachDrop`. The cost grows with the number of these drops, not with the ledger.
    public func forEachDropNeededAtStart(
        _ body: (DropRecord) -> Bool, damaged: (LedgerError) -> Void = { _ in }
    ) throws(LedgerError) {
        var next: [UInt8]? = []
        while let start = next {
            let page = try read { transaction throws(LMDBError) in
                .success(try StartIndex.page(from: start, in: transaction))
            }
            let drops = (page?.drops ?? []).compactMap { sound($0, damaged) }
            for drop in drops where drop.isNeededAtStart && !body(drop) { return }
            next = page?.next
        }
    }

    /// Returns some hundred drops, in no particular order: the drop at a path and those below it.
    ///
    /// The cost of all pages grows with the number of drops below the path, not with the ledger.
    ///
    /// - Parameter damaged: called for each unreadable record, which is left out.
    /// - Returns: the drops, and where the next page begins; nil after the last one.
    public func drops(
        within directory: RelativePath = .root, from position: DropPosition,
        damaged: (LedgerError) -> Void = { _ in }
    ) throws(LedgerError) -> (drops: [DropRecord], next: DropPosition?) {
        var position = position
        if directory == .root {
            let page = try page(of: DropRecord.self, from: position.key ?? [], damaged: damaged)
            position.key = page.next
            return (page.records, page.next == nil ? nil : position)
        }
        var found: [DropRecord] = []
        if position == .first {
            if let record = try drop(at: directory) { found.append(record) }
            position.directories = [drops.hash(directory.bytes[...])]
            position.seen = Set(position.directories)
        }
        while found.count < Self.mostRecords / 2, let hash = position.directories.last {
            let bucket = LedgerKeys.hashed(hash)
            let page = try page(
                of: DropRecord.self, from: position.key ?? bucket, startingWith: bucket, damaged: damaged)
            found += page.records.filter { $0.path != directory && $0.path.isWithin(directory) }
            position.key = page.next
            if page.next != nil { continue }
            position.directories.removeLast()
            for below in try subdirectories(of: hash) where position.seen.insert(below).inserted {
                position.directories.append(below)
            }
        }
        return (found, position.directories.isEmpty ? nil : position)
    }

    private func subdirectories(of hash: UInt64) throws(LedgerError) -> [UInt64] {
        let bucket = LedgerKeys.hashed(hash)
        let entries = try read { transaction throws(LMDBError) in
            .success(try transaction.keys(LedgerTable.directories.table, prefix: bucket))
        }
        return (entries ?? []).map { LedgerKeys.number($0.dropFirst(bucket.count)) }
    }

    /// Returns the number of drops, traces and unreadable ones included. The cost does not grow with it.
    public func dropCount() throws(LedgerError) -> Int {
        try read { transaction throws(LMDBError) in .success(try transaction.count(of: LedgerTable.drops.table)) } ?? 0
    }

    /// Calls `body` with the drop at a path and every drop below the path, in no particular order, until `body`
    /// returns false; see `forEachDrop`. The cost grows with the number of drops below the path, not with the ledger.
    public func forEachDrop(
        within directory: RelativePath, _ body: (DropRecord) -> Bool, damaged: (LedgerError) -> Void = { _ in }
    ) throws(LedgerError) {
        var next: DropPosition? = .first
        while let position = next {
            let page = try drops(within: directory, from: position, damaged: damaged)
            for record in page.drops where !body(record) { return }
            next = page.next
        }
    }

    /// Returns an upload's record; nil if none exists.
    public func upload(_ key: ContentKey) throws(LedgerError) -> UploadRecord? {
        try record(LedgerKeys.content(key))
    }

    /// Calls `body` with every upload by ascending key until `body` returns false; see `forEachDrop`.
    public func forEachUpload(
        _ body: (UploadRecord) -> Bool, damaged: (LedgerError) -> Void = { _ in }
    ) throws(LedgerError) {
        try forEach(UploadRecord.self, body, damaged: damaged)
    }

    /// Returns an upload's acknowledged fragments and the receipts the server issued for them.
    ///
    /// - Parameter plan: how the content is split into fragments; states beyond the last fragment are left out.
    public func fragments(
        of key: ContentKey, plan: FragmentPlan
    ) throws(LedgerError) -> (acknowledged: FragmentSet, receipts: [Int: String]) {
        let found = try read { transaction throws(LMDBError) in
            .success(try transaction.fragmentPages(of: key))
        }
        var pages: [FragmentPage] = []
        for page in found ?? [] {
            switch page {
            case .success(let page): pages.append(page)
            case .failure(let found): damage.note(found)
            }
        }
        return FragmentPage.join(pages, count: plan.count)
    }

    /// Calls `body` with every parked upload, by ascending key, until `body` returns false; see `forEachDrop`.
    ///
    /// - Parameter body: takes the upload, its acknowledged fragments and their receipts.
    public func forEachParked(
        _ body: (UploadRecord, FragmentSet, [Int: String]) -> Bool, damaged: (LedgerError) -> Void = { _ in }
    ) throws(LedgerError) {
        try forEach(ParkedUpload.self, { body($0.upload, $0.acknowledged, $0.receipts) }, damaged: damaged)
    }

    /// Returns a source's record; nil if none exists.
    public func source(_ id: String) throws(LedgerError) -> SourceRecord? {
        let key = LedgerKeys.source(id)
        // LMDB accepts only keys of this length (mdb_env_get_maxkeysize); callers need not know the limit.
        return (1...511).contains(key.count) ? try record(key) : nil
    }

    /// Calls `body` with every source by ascending id until `body` returns false; see `forEachDrop`.
    public func forEachSource(
        _ body: (SourceRecord) -> Bool, damaged: (LedgerError) -> Void = { _ in }
    ) throws(LedgerError) {
        try forEach(SourceRecord.self, body, damaged: damaged)
    }

    /// Returns the keyed digests of blocks of 512 KiB, in order, up to the first unknown one.
    public func digests(of key: ContentKey, blocks: Range<Int>) throws(LedgerError) -> [UInt64] {
        var digests: [UInt64] = []
        var next = max(blocks.lowerBound, 0)
        while next < blocks.upperBound {
            let start = next % DigestPage.blocks
            let wanted = start..<min(start + (blocks.upperBound - next), DigestPage.blocks)
            let found = try readDigests(wanted, ofPage: LedgerKeys.page(key, next / DigestPage.blocks))
            digests += found
            if found.count < wanted.count { break }
            next += wanted.count
        }
        return digests
    }

    /// Returns the digests at some positions of a page, as far as it has them.
    private func readDigests(_ positions: Range<Int>, ofPage key: [UInt8]) throws(LedgerError) -> [UInt64] {
        try read { transaction throws(LMDBError) in
            try transaction.get(DigestPage.table.table, key) {
                DigestPage.decode($0, key: key) { $0.readWords(positions, atMost: DigestPage.blocks) }
            }
        } ?? []
    }

    /// Returns the confirmation of a content by one server and account; nil if none exists.
    public func confirmation(of key: ContentKey, scope: RemoteScope) throws(LedgerError) -> Confirmation? {
        let found: Confirmation? = try record(LedgerKeys.scoped(key, scope))
        return found?.scope == scope ? found : nil
    }

    /// Returns what a recipe made of a content; nil if nothing is recorded.
    public func product(of original: ContentKey, recipe: String) throws(LedgerError) -> ProductRecord? {
        let found: ProductRecord? = try record(LedgerKeys.product(original, recipe: recipe))
        return found?.product.recipe == recipe ? found : nil
    }

    /// Returns the keys of all products that recipes made of a content.
    public func products(of original: ContentKey) throws(LedgerError) -> [ContentKey] {
        let prefix = LedgerKeys.content(original)
        return try read { transaction throws(LMDBError) in
            var keys: [ContentKey] = []
            for key in try transaction.keys(LedgerTable.products.table, prefix: prefix) {
                let record = try transaction.get(LedgerTable.products.table, key) { ProductRecord.decode($0, key: key) }
                if case .success(let record) = record, let content = record.content { keys.append(content.key) }
            }
            return .success(keys)
        } ?? []
    }

    /// Returns the uploads to delete at one server and account, in no particular order.
    public func removals(for scope: RemoteScope) throws(LedgerError) -> [RemoteHandle] {
        var handles: [RemoteHandle] = []
        try forEach(
            RemovalRecord.self,
            { record in
                if record.scope == scope { handles.append(record.handle) }
                return true
            }, damaged: { _ in })
        return handles
    }

    /// Returns a setting's value; nil if none is stored.
    public func setting(_ name: String) throws(LedgerError) -> [UInt8]? {
        let found: SettingRecord? = name.isEmpty ? nil : try record(Array(name.utf8))
        return found?.value
    }

    /// Returns the 192 secret bytes that key the block digests: created with the ledger, durable since, never
    /// changed.
    public func digestSecret() throws(LedgerError) -> [UInt8] {
        let key = LedgerSchema.secretKey
        let stored = try read { transaction throws(LMDBError) in try LedgerSchema.value(key, in: transaction) }
        guard let stored, stored.count == LedgerSchema.secretSize else {
            throw .damagedRecord(table: .meta, key: key)
        }
        return stored
    }

    func record<Record: StoredRecord>(_ key: [UInt8]) throws(LedgerError) -> Record? {
        try read { transaction throws(LMDBError) in
            try transaction.get(Record.table.table, key) { Record.decode($0, key: key) }
        }
    }

    func read<Value>(
        _ body: (borrowing ReadTransaction) throws(LMDBError) -> Result<Value, LedgerError>?
    ) throws(LedgerError) -> Value? {
        let outcome: Result<Value, LedgerError>?
        do throws(LMDBError) {
            outcome = try environment.read(body)
        } catch {
            if error.isDamage { writer.report(damage: "the ledger can't be read: \(error)") }
            throw error.isClosed ? .closed : .storage(error)
        }
        switch outcome {
        case .success(let value): return value
        case .failure(let found):
            damage.note(found)
            return nil
        case nil: return nil
        }
    }

    private func forEach<Record: StoredRecord>(
        _ type: Record.Type, _ body: (Record) -> Bool, damaged: (LedgerError) -> Void
    ) throws(LedgerError) {
        var next: [UInt8]? = []
        while let start = next {
            let page = try page(of: type, from: start, damaged: damaged)
            for record in page.records where !body(record) { return }
            next = page.next
        }
    }

    /// Returns some hundred records, or fewer if they are large.
    ///
    /// - Parameters:
    ///   - start: the first key to read.
    ///   - prefix: the first bytes of all keys to read.
    /// - Returns: the records, and the key to read next; nil after the last one.
    private func page<Record: StoredRecord>(
        of type: Record.Type, from start: [UInt8], startingWith prefix: [UInt8] = [],
        damaged: (LedgerError) -> Void
    ) throws(LedgerError) -> (records: [Record], next: [UInt8]?) {
        let mostBytes = 1 << 20
        var found: [Result<Record, LedgerError>] = []
        found.reserveCapacity(Self.mostRecords)
        var size = 0
        var next: [UInt8]?
        _ = try read { transaction throws(LMDBError) -> Result<Void, LedgerError>? in
            try transaction.scan(Record.table.table, from: start) { key, value in
                guard key.starts(with: prefix) else { return false }
                let key = Array(key)
                found.append(Record.decode(value, key: key))
                size += value.count
                if found.count < Self.mostRecords && size < mostBytes { return true }
                // The smallest key above this one.
                next = key + [0]
                return false
            }
            return nil
        }
        return (found.compactMap { sound($0, damaged) }, next)
    }

    private func sound<Record>(_ record: Result<Record, LedgerError>, _ damaged: (LedgerError) -> Void) -> Record? {
        switch record {
        case .success(let record): return record
        case .failure(let found):
            damage.note(found)
            damaged(found)
            return nil
        }
    }
}

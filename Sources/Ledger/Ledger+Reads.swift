public import UploadCore

// A record that is damaged is treated as absent: what it told is found again, and the next write replaces it.
extension Ledger {
    /// What is known of a path; nil where nothing is.
    public func drop(at path: RelativePath) throws(LedgerError) -> DropRecord? {
        try read { transaction throws(LMDBError) in try drops.slot(of: path, in: transaction).record }
    }

    /// The paths that have a content, in no particular order.
    public func drops(of key: ContentKey) throws(LedgerError) -> [RelativePath] {
        let prefix = LedgerKeys.content(key)
        return try read { transaction throws(LMDBError) in
            var paths: [RelativePath] = []
            for entry in try transaction.keys(LedgerTable.contents.table, prefix: prefix) {
                let slot = Array(entry.dropFirst(prefix.count))
                let record = try transaction.get(LedgerTable.drops.table, slot) { DropRecord.decode($0, key: slot) }
                switch record {
                // The index may lag behind a record that was damaged when it was replaced.
                case .success(let record) where record.key == key: paths.append(record.path)
                case .success, nil: continue
                case .failure(let found): damage.note(found)
                }
            }
            return .success(paths)
        } ?? []
    }

    /// One of the paths that have a content; nil where none has.
    public func anyDrop(of key: ContentKey) throws(LedgerError) -> DropRecord? {
        let prefix = LedgerKeys.content(key)
        return try read { transaction throws(LMDBError) in
            var slots: [[UInt8]] = []
            // The index may lag behind a record that was damaged when it was replaced, so the first may be none.
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

    /// Calls `body` with every drop, in no particular order, until it returns false.
    ///
    /// Drops are read some hundred at a time and `body` runs between the transactions: it may take its time and use the
    /// ledger. Drops that change meanwhile are seen in either state.
    ///
    /// - Parameter damaged: called for each record that can't be read; the walk goes on.
    public func forEachDrop(
        _ body: (DropRecord) -> Bool, damaged: (LedgerError) -> Void = { _ in }
    ) throws(LedgerError) {
        try forEach(DropRecord.self, body, damaged: damaged)
    }

    /// Calls `body` with the drop at a path and every drop below it, in no particular order, until it returns false; see
    /// `forEachDrop`. The cost grows with what lies below the path, not with the ledger.
    public func forEachDrop(
        within directory: RelativePath, _ body: (DropRecord) -> Bool, damaged: (LedgerError) -> Void = { _ in }
    ) throws(LedgerError) {
        if directory == .root { return try forEachDrop(body, damaged: damaged) }
        if let record = try drop(at: directory), !body(record) { return }
        var buckets = [drops.hash(directory.bytes)]
        // Paths of the same hash could lead in a circle.
        var seen = Set(buckets)
        while let bucket = buckets.popLast() {
            var start = bucket
            while true {
                var page = DirectoryPage()
                _ = try read { transaction throws(LMDBError) -> Result<Void, LedgerError>? in
                    page = try DirectoryIndex.page(of: bucket, from: start, in: transaction)
                    return nil
                }
                for record in page.drops {
                    switch record {
                    case .success(let record):
                        if record.path != directory, record.path.isWithin(directory), !body(record) { return }
                    case .failure(let found):
                        damage.note(found)
                        damaged(found)
                    }
                }
                buckets += page.directories.filter { seen.insert($0).inserted }
                guard let next = page.next else { break }
                start = next
            }
        }
    }

    /// What is known of an upload; nil where nothing is.
    public func upload(_ key: ContentKey) throws(LedgerError) -> UploadRecord? {
        try record(LedgerKeys.content(key))
    }

    /// Calls `body` with every upload by ascending key until it returns false; see `forEachDrop`.
    public func forEachUpload(
        _ body: (UploadRecord) -> Bool, damaged: (LedgerError) -> Void = { _ in }
    ) throws(LedgerError) {
        try forEach(UploadRecord.self, body, damaged: damaged)
    }

    /// Which fragments of an upload the server acknowledged, and what it gave for them.
    ///
    /// - Parameter plan: how the content is cut; what lies beyond its last fragment is left out.
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

    /// Calls `body` with every upload that was set aside, by ascending key, until it returns false; see `forEachDrop`.
    ///
    /// - Parameter body: takes the upload, which of its fragments the server acknowledged, and what it gave for them.
    public func forEachParked(
        _ body: (UploadRecord, FragmentSet, [Int: String]) -> Bool, damaged: (LedgerError) -> Void = { _ in }
    ) throws(LedgerError) {
        try forEach(ParkedUpload.self, { body($0.upload, $0.acknowledged, $0.receipts) }, damaged: damaged)
    }

    /// What is known of a source; nil where nothing is.
    public func source(_ id: String) throws(LedgerError) -> SourceRecord? {
        let key = LedgerKeys.source(id)
        // LMDB takes no other key (mdb_env_get_maxkeysize), and whoever asks need not know.
        return (1...511).contains(key.count) ? try record(key) : nil
    }

    /// Calls `body` with every source by ascending id until it returns false; see `forEachDrop`.
    public func forEachSource(
        _ body: (SourceRecord) -> Bool, damaged: (LedgerError) -> Void = { _ in }
    ) throws(LedgerError) {
        try forEach(SourceRecord.self, body, damaged: damaged)
    }

    /// The keyed digest of one block of 512 KiB; nil where none is known.
    public func digest(of key: ContentKey, block: Int) throws(LedgerError) -> UInt64? {
        guard block >= 0 else { return nil }
        let page: DigestPage? = try record(LedgerKeys.page(key, block / DigestPage.blocks))
        let index = block % DigestPage.blocks
        guard let page, index < page.digests.count else { return nil }
        return page.digests[index]
    }

    /// What a server said of a content; nil where it said nothing, or was somebody else.
    public func confirmation(of key: ContentKey, scope: RemoteScope) throws(LedgerError) -> Confirmation? {
        let found: Confirmation? = try record(LedgerKeys.scoped(key, scope))
        return found?.scope == scope ? found : nil
    }

    /// A small value kept by name; nil where there is none.
    public func setting(_ name: String) throws(LedgerError) -> [UInt8]? {
        let found: SettingRecord? = name.isEmpty ? nil : try record(Array(name.utf8))
        return found?.value
    }

    /// The small values whose names begin with a prefix, by ascending name.
    public func settings(withPrefix prefix: String) throws(LedgerError) -> [(name: String, value: [UInt8])] {
        let names = try read { transaction throws(LMDBError) in
            .success(try transaction.keys(LedgerTable.settings.table, prefix: Array(prefix.utf8)))
        }
        var found: [(name: String, value: [UInt8])] = []
        for name in (names ?? []).map({ String(decoding: $0, as: UTF8.self) }) {
            if let value = try setting(name) { found.append((name, value)) }
        }
        return found
    }

    /// The 192 secret bytes that key the block digests: made when the ledger was, durable since, never changed.
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

    private func read<Value>(
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
        let mostRecords = 512
        let mostBytes = 1 << 20
        var start: [UInt8] = []
        while true {
            var found: [Result<Record, LedgerError>] = []
            found.reserveCapacity(mostRecords)
            var size = 0
            var isLast = true
            var last: [UInt8] = []
            _ = try read { transaction throws(LMDBError) -> Result<Void, LedgerError>? in
                try transaction.scan(Record.table.table, from: start) { key, value in
                    last = Array(key)
                    found.append(Record.decode(value, key: last))
                    size += value.count
                    isLast = found.count < mostRecords && size < mostBytes
                    return isLast
                }
                return nil
            }
            for record in found {
                switch record {
                case .success(let record): if !body(record) { return }
                case .failure(let found):
                    damage.note(found)
                    damaged(found)
                }
            }
            if isLast { return }
            // The smallest key above the last.
            start = last + [0]
        }
    }
}

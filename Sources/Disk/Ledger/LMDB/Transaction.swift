import CLMDB

/// A consistent view of all tables. It exists only inside the closure of `Environment.read` or `write`: the type is
/// not copyable, so `body` cannot store it.
///
/// "Values returned from the database are valid only until a subsequent update operation, or the end of the
/// transaction" (lmdb.h, `mdb_get`): a closure therefore receives each value and copies the needed parts.
struct ReadTransaction: ~Copyable {
    let handle: OpaquePointer
    let tables: [MDB_dbi]
    /// Counts each record that is read.
    let mapped: MappedPages

    /// Passes a key's value to `body`; returns nil if the key does not exist.
    func get<Value>(
        _ table: Table, _ key: [UInt8], _ body: (UnsafeRawBufferPointer) -> Value
    ) throws(LMDBError) -> Value? {
        defer { mapped.used() }
        return try withKey(key) { raw throws(LMDBError) in
            var value = MDB_val()
            let code = mdb_get(handle, tables[table.index], &raw, &value)
            if code == MDB_NOTFOUND { return nil }
            try LMDBError.check(code, "mdb_get", table.name)
            return body(value.bytes)
        }
    }

    /// Scans a table against the byte order of its keys, from the last key below `end`, until `body` returns false.
    ///
    /// - Parameter end: empty for the end of the table.
    func scanBackwards(
        _ table: Table, before end: [UInt8], _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool
    ) throws(LMDBError) {
        try walk(table, at: end, step: MDB_PREV, body) { cursor, key, value in
            let code = end.isEmpty ? MDB_NOTFOUND : mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
            // Now at the first key that is not below `end`, or at none.
            return mdb_cursor_get(cursor, &key, &value, code == MDB_NOTFOUND ? MDB_LAST : MDB_PREV)
        }
    }

    /// Scans a table in the byte order of its keys, from the first key not below `start`, until `body` returns false.
    func scan(
        _ table: Table, from start: [UInt8], _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool
    ) throws(LMDBError) {
        try walk(table, at: start, step: MDB_NEXT, body) { cursor, key, value in
            mdb_cursor_get(cursor, &key, &value, start.isEmpty ? MDB_FIRST : MDB_SET_RANGE)
        }
    }

    /// Shows entries to `body` until it returns false.
    ///
    /// - Parameters:
    ///   - key: what `seek` gets as its key.
    ///   - step: how the cursor moves from an entry to the next one.
    ///   - seek: moves the cursor to the first entry.
    private func walk(
        _ table: Table, at key: [UInt8], step: MDB_cursor_op,
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool,
        from seek: (OpaquePointer?, inout MDB_val, inout MDB_val) -> CInt
    ) throws(LMDBError) {
        defer { mapped.used() }
        var cursor: OpaquePointer?
        try LMDBError.check(mdb_cursor_open(handle, tables[table.index], &cursor), "mdb_cursor_open", table.name)
        // "A cursor in a read-only transaction must be closed explicitly, before or after its transaction ends"
        // (lmdb.h); closing a cursor of a write transaction is allowed.
        defer { mdb_cursor_close(cursor) }
        var value = MDB_val()
        try withKey(key) { key throws(LMDBError) in
            var code = seek(cursor, &key, &value)
            while code == MDB_SUCCESS {
                if !body(key.bytes, value.bytes) { return }
                mapped.used()
                code = mdb_cursor_get(cursor, &key, &value, step)
            }
            if code != MDB_NOTFOUND { try LMDBError.check(code, "mdb_cursor_get", table.name) }
        }
    }
}

extension ReadTransaction {
    /// Copies some entries of a table, for callers that change tables or leave the transaction between pages.
    ///
    /// - Parameter start: the first key to read.
    /// - Returns: the entries, and the key to read next; nil at the end of the table.
    func page<Entry>(
        of table: Table, from start: [UInt8], atMost count: Int = 512,
        _ copy: (_ key: [UInt8], _ value: UnsafeRawBufferPointer) -> Entry
    ) throws(LMDBError) -> (entries: [Entry], next: [UInt8]?) {
        var entries: [Entry] = []
        var next: [UInt8]?
        try scan(table, from: start) { key, value in
            let key = Array(key)
            entries.append(copy(key, value))
            // The smallest key above this one.
            if entries.count == count { next = key + [0] }
            return entries.count < count
        }
        return (entries, next)
    }

    /// Whether a table has a key that starts with some bytes.
    func hasKey(of table: Table, startingWith prefix: [UInt8]) throws(LMDBError) -> Bool {
        var found = false
        try scan(table, from: prefix) { key, _ in
            found = key.starts(with: prefix)
            return false
        }
        return found
    }

    /// Returns a table's first and last key; nil if the table is empty.
    func ends(of table: Table) throws(LMDBError) -> (first: [UInt8], last: [UInt8])? {
        var cursor: OpaquePointer?
        try LMDBError.check(mdb_cursor_open(handle, tables[table.index], &cursor), "mdb_cursor_open", table.name)
        defer { mdb_cursor_close(cursor) }
        var ends: [[UInt8]] = []
        for end in [MDB_FIRST, MDB_LAST] {
            var key = MDB_val()
            var value = MDB_val()
            let code = mdb_cursor_get(cursor, &key, &value, end)
            if code == MDB_NOTFOUND { return nil }
            try LMDBError.check(code, "mdb_cursor_get", table.name)
            ends.append(Array(key.bytes))
        }
        return (ends[0], ends[1])
    }

    /// Returns the number of a table's entries.
    func count(of table: Table) throws(LMDBError) -> Int { try statistics(tables[table.index]).ms_entries }

    /// Whether all tables are empty.
    var isEmpty: Bool {
        get throws(LMDBError) {
            for table in tables where try statistics(table).ms_entries > 0 { return false }
            return true
        }
    }

    /// Returns LMDB's statistics of a table: pages by kind, and entries.
    func statistics(_ table: MDB_dbi) throws(LMDBError) -> MDB_stat {
        var result = MDB_stat()
        try LMDBError.check(mdb_stat(handle, table, &result), "mdb_stat", "table \(table)")
        return result
    }
}

/// The only transaction that can change tables; its view includes its own changes.
struct WriteTransaction: ~Copyable {
    let reading: ReadTransaction

    /// Stores a value, replacing the key's previous value.
    func put(
        _ table: Table, _ key: [UInt8], _ value: borrowing [UInt8], flags: UInt32 = 0
    ) throws(LMDBError) {
        defer { reading.mapped.used() }
        let code = value.withUnsafeBytes { bytes in
            withKey(key) { raw in
                // LMDB copies the bytes without changing them.
                var data = MDB_val(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
                return mdb_put(reading.handle, reading.tables[table.index], &raw, &data, flags)
            }
        }
        try LMDBError.check(code, "mdb_put", table.name)
    }

    /// Stores a value under a key above all others of the table, which fills its pages (lmdb.h, MDB_APPEND).
    func append(_ table: Table, _ key: [UInt8], _ value: borrowing [UInt8]) throws(LMDBError) {
        try put(table, key, value, flags: UInt32(MDB_APPEND))
    }

    /// Removes all keys of a table.
    func clear(_ table: Table) throws(LMDBError) {
        defer { reading.mapped.used() }
        try LMDBError.check(mdb_drop(reading.handle, reading.tables[table.index], 0), "mdb_drop", table.name)
    }

    /// Removes a key.
    ///
    /// - Returns: whether the key existed.
    @discardableResult
    func remove(_ table: Table, _ key: [UInt8]) throws(LMDBError) -> Bool {
        defer { reading.mapped.used() }
        let code = withKey(key) { raw in mdb_del(reading.handle, reading.tables[table.index], &raw, nil) }
        if code == MDB_NOTFOUND { return false }
        try LMDBError.check(code, "mdb_del", table.name)
        return true
    }
}

extension MDB_val {
    fileprivate var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: mv_data, count: mv_size) }
}

private func withKey<Result, Failure: Error>(
    _ key: [UInt8], _ body: (inout MDB_val) throws(Failure) -> Result
) throws(Failure) -> Result {
    try key.withUnsafeBufferPointer { buffer throws(Failure) in
        let bytes = UnsafeRawBufferPointer(buffer)
        // LMDB never writes through a key; its type lacks the const.
        var raw = MDB_val(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        return try body(&raw)
    }
}

/// One of the environment's named B+trees ("databases" in LMDB's manual), by its position in the list of names passed
/// to the environment.
struct Table: Hashable, Sendable {
    let index: Int
    let name: String
}

extension LedgerTable {
    /// The table's position in the environment's list.
    var table: Table { Table(index: number, name: rawValue) }

    private var number: Int {
        switch self {
        case .drops: 0
        case .contents: 1
        case .uploads: 2
        case .fragments: 3
        case .digests: 4
        case .confirmations: 5
        case .settings: 6
        case .meta: 7
        case .sources: 8
        case .parked: 9
        case .directories: 10
        case .queue: 11
        case .start: 12
        case .removals: 13
        case .products: 14
        case .journal: 15
        case .names: 16
        }
    }
}

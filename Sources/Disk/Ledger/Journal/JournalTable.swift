import UploadCore

/// The journal's rows and their index of names.
struct JournalTable {
    private static let rows = LedgerTable.journal.table
    private static let names = LedgerTable.names.table
    /// The number of the last row that was removed, in the table of the ledger's own data.
    private static let trimmedKey = Array("journal_trimmed".utf8)
    /// The mark behind a row's number that makes the key of the file's present path.
    private static let placeMark: UInt8 = 1
    /// Bytes of a name in the index. More would hardly tell more names apart.
    private static let indexedBytes = 16
    /// Bytes of a number in the index.
    private static let indexedNumber = 6
    /// So many rows with the name of a moved file are looked at, the latest first.
    private static let mostLookedAt = 64
    /// Rows that one change removes.
    static let mostTrimmed = 512

    /// The number of the last row; nil before the first look.
    private var last: UInt64?

    static func key(_ number: UInt64) -> [UInt8] { LedgerKeys.hashed(number) }
    private static func placeKey(_ number: UInt64) -> [UInt8] { key(number) + [placeMark] }

    // MARK: Changes

    mutating func append(
        _ entry: JournalEntry, in transaction: borrowing WriteTransaction, encoder: inout RecordEncoder
    ) throws(LMDBError) {
        let last = if let last { last } else { try Self.lastNumber(in: transaction.reading) }
        let number = max(entry.number, last + 1)
        let key = Self.key(number)
        entry.row.encode(into: &encoder, key: key)
        try transaction.append(Self.rows, key, encoder.bytes)
        try index(entry.row, number, in: transaction)
        self.last = number
    }

    /// Adds a row to the index of names, which also finds the outcomes that most rows don't have.
    func index(
        _ row: JournalRow, _ number: UInt64, in transaction: borrowing WriteTransaction
    ) throws(LMDBError) {
        try index(row.path, number, in: transaction)
        if let key = Self.outcomeKey(row, number) { try transaction.put(Self.names, key, []) }
    }

    /// Adds a path to the index of names.
    func index(
        _ path: RelativePath, _ number: UInt64, in transaction: borrowing WriteTransaction
    ) throws(LMDBError) {
        if path.name.isEmpty { return }
        try transaction.put(Self.names, Self.nameKey(path.name, number), [])
    }

    /// Records that the file of a path's last row has another path now.
    func move(
        _ path: RelativePath, to place: RelativePath, in transaction: borrowing WriteTransaction,
        encoder: inout RecordEncoder
    ) throws(LMDBError) {
        let numbers = try Self.numbers(of: path.name, in: transaction.reading).suffix(Self.mostLookedAt)
        for number in numbers.reversed() {
            guard let entry = try Self.entry(number, in: transaction.reading), entry.row.subject != .agent,
                entry.place ?? entry.row.path == path
            else { continue }
            if let old = entry.place { try transaction.remove(Self.names, Self.nameKey(old.name, number)) }
            let key = Self.placeKey(number)
            JournalPlace(path: place).encode(into: &encoder, key: key)
            try transaction.put(Self.rows, key, encoder.bytes)
            return try index(place, number, in: transaction)
        }
    }

    /// Removes the first rows before a number, at most ``mostTrimmed``.
    func trim(before end: UInt64, in transaction: borrowing WriteTransaction) throws(LMDBError) {
        let entries = try Self.entries(from: 1, atMost: Self.mostTrimmed, in: transaction.reading)
            .prefix { $0.number < end }
        for entry in entries {
            for path in [entry.row.path, entry.place].compactMap(\.self) where !path.name.isEmpty {
                try transaction.remove(Self.names, Self.nameKey(path.name, entry.number))
            }
            if let key = Self.outcomeKey(entry.row, entry.number) { try transaction.remove(Self.names, key) }
            try transaction.remove(Self.rows, Self.key(entry.number))
            try transaction.remove(Self.rows, Self.placeKey(entry.number))
        }
        guard let last = entries.last?.number else { return }
        try LedgerSchema.put(Self.key(last), Self.trimmedKey, in: transaction)
    }

    // MARK: Reads

    /// Returns the number of the last row ever appended; 0 before the first.
    static func lastNumber(in transaction: borrowing ReadTransaction) throws(LMDBError) -> UInt64 {
        if let last = try transaction.ends(of: rows)?.last {
            return LedgerKeys.number(last.prefix(LedgerKeys.numberSize))
        }
        return try trimmedNumber(in: transaction)
    }

    /// Returns the number of the last row that was removed; 0 if none was.
    static func trimmedNumber(in transaction: borrowing ReadTransaction) throws(LMDBError) -> UInt64 {
        guard case .success(let bytes)? = try LedgerSchema.value(trimmedKey, in: transaction) else { return 0 }
        return LedgerKeys.number(bytes)
    }

    /// Returns rows by ascending number; damaged ones are left out.
    static func entries(
        from number: UInt64, atMost count: Int, in transaction: borrowing ReadTransaction
    ) throws(LMDBError) -> [JournalEntry] {
        var entries: [JournalEntry] = []
        try transaction.scan(rows, from: key(number)) { key, value in
            if let place = place(key, value) {
                if entries.last?.number == place.number { entries[entries.count - 1].place = place.path }
                return true
            }
            guard entries.count < count else { return false }
            if let entry = entry(key, value) { entries.append(entry) }
            return true
        }
        return entries
    }

    /// A row as it is stored, and the path that its file has since. Valid during the transaction.
    struct StoredRow {
        let number: UInt64
        let place: RelativePath?
        fileprivate let key: UnsafeRawBufferPointer
        fileprivate let value: UnsafeRawBufferPointer

        /// The path of the row, which is not verified.
        var path: [UInt8] { JournalRow.path(in: value) }
        /// The decoded row; nil if it is damaged.
        var entry: JournalEntry? {
            JournalTable.entry(key, value).map { JournalEntry(number: $0.number, row: $0.row, place: place) }
        }
    }

    /// Passes rows by descending number to `body` until it returns false.
    ///
    /// - Parameter end: the number after the first row to read; nil for the last row.
    static func forEachBackwards(
        before end: UInt64?, in transaction: borrowing ReadTransaction, _ body: (StoredRow) -> Bool
    ) throws(LMDBError) {
        var pending: (number: UInt64, path: RelativePath)?
        try transaction.scanBackwards(rows, before: end.map(key) ?? []) { key, value in
            if let found = place(key, value) {
                pending = found
                return true
            }
            let number = LedgerKeys.number(key)
            let place = pending?.number == number ? pending?.path : nil
            return body(StoredRow(number: number, place: place, key: key, value: value))
        }
    }

    /// Returns numbers of rows about files with an outcome, descending; for `done` those of all rows, since most are.
    ///
    /// - Parameter end: the number after the first row; nil for the last row.
    static func numbers(
        of outcome: JournalRow.Outcome, before end: UInt64?, atMost count: Int,
        in transaction: borrowing ReadTransaction
    ) throws(LMDBError) -> [UInt64] {
        var numbers: [UInt64] = []
        if outcome == .done {
            try transaction.scanBackwards(rows, before: end.map(key) ?? []) { key, _ in
                if key.count == LedgerKeys.numberSize { numbers.append(LedgerKeys.number(key)) }
                return numbers.count < count
            }
        } else {
            let prefix = [0, outcome.rawValue]
            let start = end.map { prefix + key($0).suffix(indexedNumber) } ?? [0, outcome.rawValue + 1]
            try transaction.scanBackwards(names, before: start) { key, _ in
                guard key.starts(with: prefix) else { return false }
                numbers.append(LedgerKeys.number(key.suffix(indexedNumber)))
                return numbers.count < count
            }
        }
        return numbers
    }

    /// Returns a row by its number.
    static func entry(
        _ number: UInt64, in transaction: borrowing ReadTransaction
    ) throws(LMDBError) -> JournalEntry? {
        try entries(from: number, atMost: 1, in: transaction).first.flatMap { $0.number == number ? $0 : nil }
    }

    /// Returns the numbers of the rows with a name, ascending; those of longer names with the same first bytes may be among
    /// them.
    static func numbers(
        of name: ArraySlice<UInt8>, in transaction: borrowing ReadTransaction
    ) throws(LMDBError) -> [UInt64] {
        try numbers(startingWith: indexed(name) + [0], in: transaction)
    }

    /// Returns the numbers of the rows whose indexed names begin with some bytes, in no particular order.
    static func numbers(
        startingWith prefix: [UInt8], in transaction: borrowing ReadTransaction
    ) throws(LMDBError) -> [UInt64] {
        var numbers: [UInt64] = []
        try transaction.scan(names, from: prefix) { key, _ in
            guard key.starts(with: prefix) else { return false }
            numbers.append(LedgerKeys.number(key.suffix(indexedNumber)))
            return true
        }
        return numbers
    }

    /// Returns the first bytes of a name as the index has them: ASCII letters in lower case, since people type what they
    /// remember.
    static func indexed(_ name: some Sequence<UInt8>) -> [UInt8] { name.prefix(indexedBytes).map(\.lowercased) }

    private static func nameKey(_ name: ArraySlice<UInt8>, _ number: UInt64) -> [UInt8] {
        indexed(name) + [0] + key(number).suffix(indexedNumber)
    }

    /// The key of a row in the index of names if it has one of the rarer outcomes. No name begins with a zero.
    private static func outcomeKey(_ row: JournalRow, _ number: UInt64) -> [UInt8]? {
        guard row.subject == .file || row.subject == .portrait, row.outcome != .done else { return nil }
        return [0, row.outcome.rawValue] + key(number).suffix(indexedNumber)
    }

    private static func entry(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> JournalEntry? {
        guard key.count == LedgerKeys.numberSize, let row = try? JournalRow.decode(value, key: Array(key)).get() else {
            return nil
        }
        return JournalEntry(number: LedgerKeys.number(key), row: row)
    }

    private static func place(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) -> (number: UInt64, path: RelativePath)? {
        guard key.count > LedgerKeys.numberSize, let place = try? JournalPlace.decode(value, key: Array(key)).get()
        else {
            return nil
        }
        return (LedgerKeys.number(key.prefix(LedgerKeys.numberSize)), place.path)
    }
}

extension UInt8 {
    /// An upper-case ASCII letter in lower case; any other byte as it is.
    var lowercased: UInt8 { (0x41...0x5a).contains(self) ? self | 0x20 : self }
}

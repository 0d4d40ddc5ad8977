import CXXHash
public import UploadCore

extension Ledger {
    /// Rows read in one transaction: old pages are not reused meanwhile.
    private static let mostRows = 16_384

    /// What the ids of the journal's rows begin with: no other ledger has the same.
    public func journalID() throws(LedgerError) -> String {
        let secret = try digestSecret()
        return secret.withUnsafeBytes { XXH3_64bits_withSeed($0.baseAddress, $0.count, 1).hexadecimal }
    }

    /// Returns the number of the last row ever appended; 0 before the first.
    public func journalEnd() throws(LedgerError) -> UInt64 {
        try read { transaction throws(LMDBError) in .success(try JournalTable.lastNumber(in: transaction)) } ?? 0
    }

    /// Returns rows of the journal by ascending number.
    public func journal(after number: UInt64, atMost count: Int) throws(LedgerError) -> [JournalEntry] {
        try read { transaction throws(LMDBError) in
            .success(try JournalTable.entries(from: number + 1, atMost: count, in: transaction))
        } ?? []
    }

    /// Returns the rows that a query wants, the latest first. With names that begin with letters, the cost grows with the
    /// number of rows with such names, otherwise with the number of rows that must be looked at.
    public func journal(_ query: JournalQuery) throws(LedgerError) -> [JournalEntry] {
        if query.names.isEmpty { return try walk(query) { _ in true } }
        let names = query.names.compactMap { JournalName($0) }
        if names.contains(where: \.needsWalk) {
            return try walk(query) { entry in names.contains { $0.matches(entry) } }
        }
        var found: [JournalEntry] = []
        for number in try numbers(names) where found.count < query.limit {
            let entry = try read { transaction throws(LMDBError) in
                .success(try JournalTable.entry(number, in: transaction))
            }.flatMap(\.self)
            guard let entry, query.concerns(entry), names.contains(where: { $0.matches(entry) }) else { continue }
            found.append(entry)
        }
        return found
    }

    /// Returns the numbers of the rows that may have these names, descending.
    private func numbers(_ names: [JournalName]) throws(LedgerError) -> [UInt64] {
        var numbers: Set<UInt64> = []
        for name in names {
            let found = try read { transaction throws(LMDBError) in
                .success(try JournalTable.numbers(startingWith: name.prefix, in: transaction))
            }
            numbers.formUnion(found ?? [])
        }
        return numbers.sorted(by: >)
    }

    /// Looks at rows from the latest on.
    private func walk(_ query: JournalQuery, _ matches: (JournalEntry) -> Bool) throws(LedgerError) -> [JournalEntry] {
        var found: [JournalEntry] = []
        var next: UInt64? = query.before ?? .max
        while let end = next {
            next = nil
            var count = 0
            _ = try read { transaction throws(LMDBError) -> Result<Void, LedgerError>? in
                try JournalTable.forEachBackwards(before: end == .max ? nil : end, in: transaction) { entry in
                    count += 1
                    if query.concerns(entry), matches(entry) { found.append(entry) }
                    if found.count >= query.limit { return false }
                    if count == Self.mostRows { next = entry.number }
                    return count < Self.mostRows
                }
                return nil
            }
        }
        return found
    }
}

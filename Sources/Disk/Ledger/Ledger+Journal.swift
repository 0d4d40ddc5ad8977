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

    /// Returns the number of the last row that was removed; 0 if none was.
    public func journalTrimmed() throws(LedgerError) -> UInt64 {
        try read { transaction throws(LMDBError) in .success(try JournalTable.trimmedNumber(in: transaction)) } ?? 0
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
        let names = query.names.compactMap { JournalName($0) }
        if query.names.isEmpty || names.contains(where: \.needsWalk) {
            return try walk(query, query.names.isEmpty ? nil : names)
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

    /// Returns drops of a final state, those that the journal says ended last. May return fewer than there are, if the
    /// journal lacks their rows.
    ///
    /// - Parameter paths: paths to leave out.
    public func latestDrops(
        in state: FileState, atMost count: Int, besides paths: Set<RelativePath>
    ) throws(LedgerError) -> [DropRecord] {
        guard let outcome = JournalRow.Outcome(state) else { return [] }
        var (found, seen): ([DropRecord], Set<RelativePath>) = ([], paths)
        var (end, looked): (UInt64?, Int) = (nil, 0)
        while found.count < count, looked < Self.mostRows {
            let rows: [JournalEntry] =
                try read { transaction throws(LMDBError) in
                    var rows: [JournalEntry] = []
                    let numbers = try JournalTable.numbers(of: outcome, before: end, atMost: 512, in: transaction)
                    for number in numbers {
                        if let entry = try JournalTable.entry(number, in: transaction) { rows.append(entry) }
                    }
                    end = numbers.last
                    looked += numbers.count
                    return .success(rows)
                } ?? []
            if end == nil { break }
            for entry in rows where found.count < count && entry.row.outcome == outcome {
                guard seen.insert(entry.place ?? entry.row.path).inserted,
                    let drop = try drop(at: entry.place ?? entry.row.path), drop.state == state, !drop.isTrace
                else { continue }
                found.append(drop)
            }
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
    ///
    /// - Parameter names: of which a row must have one; nil for all rows.
    private func walk(_ query: JournalQuery, _ names: [JournalName]?) throws(LedgerError) -> [JournalEntry] {
        var found: [JournalEntry] = []
        var next: UInt64? = query.before ?? .max
        while let end = next {
            next = nil
            var count = 0
            _ = try read { transaction throws(LMDBError) -> Result<Void, LedgerError>? in
                try JournalTable.forEachBackwards(before: end == .max ? nil : end, in: transaction) { row in
                    count += 1
                    if names?.contains(where: { $0.mayMatch(row) }) ?? true, let entry = row.entry,
                        query.concerns(entry), names?.contains(where: { $0.matches(entry) }) ?? true
                    {
                        found.append(entry)
                    }
                    if found.count >= query.limit { return false }
                    if count == Self.mostRows { next = row.number }
                    return count < Self.mostRows
                }
                return nil
            }
        }
        return found
    }
}

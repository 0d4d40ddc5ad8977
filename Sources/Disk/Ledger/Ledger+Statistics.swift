public import UploadCore

/// A ledger's number of entries and its size.
public struct LedgerStatistics: Hashable, Sendable {
    /// Number of entries in each table.
    public internal(set) var entries: [LedgerTable: Int] = [:]
    /// Bytes of the file up to its last page in use. The file itself ends some MiB later, in a hole.
    public internal(set) var fileSize = 0
    /// Bytes in free pages, which are reused before the file grows.
    public internal(set) var freeSize = 0
    /// Address space reserved for the file, in bytes.
    public internal(set) var mapSize = 0
    /// Number of reads of a damaged record since the ledger was opened.
    public internal(set) var damagedRecords = 0
}

extension Ledger {
    /// Returns the number of drops in each state that has any, without traces (`DropRecord.isTrace`). A drop whose
    /// record becomes damaged counts until the record is replaced.
    ///
    /// The duration grows with the number of `paths`, not with the ledger.
    ///
    /// - Parameter paths: paths that do not count.
    public func counts(besides paths: Set<RelativePath> = []) throws(LedgerError) -> [FileState: Int] {
        let counts = try read { transaction throws(LMDBError) -> Result<StateCounts, LedgerError>? in
            var counts: StateCounts
            switch try StateCounts.stored(in: transaction) {
            case .success(let stored)?: counts = stored
            case .failure(let found)?:
                // The next change of a drop replaces the damaged numbers.
                damage.note(found)
                counts = try StateCounts.count(in: transaction)
            case nil: counts = try StateCounts.count(in: transaction)
            }
            for path in paths { if let tally = try drops.tally(of: path, in: transaction) { counts[tally] -= 1 } }
            return .success(counts)
        }
        return counts?.byState ?? [:]
    }

    /// Reads a few numbers of each table; the duration does not grow with the ledger.
    ///
    /// - Throws: `storage` or `closed`.
    public func statistics() throws(LedgerError) -> LedgerStatistics {
        do throws(LMDBError) {
            let pages = try environment.pageCounts()
            var result = LedgerStatistics()
            result.fileSize = pages.used * pages.size
            result.mapSize = pages.map
            result.damagedRecords = damage.count
            // The two meta pages belong to no tree.
            var occupied = 2 + pages.own
            for (table, count) in zip(LedgerTable.allCases, pages.tables) {
                result.entries[table] = count.entries
                occupied += count.pages
            }
            result.freeSize = max(0, pages.used - occupied) * pages.size
            return result
        } catch {
            throw error.isClosed ? .closed : .storage(error)
        }
    }
}

extension Ledger {
    /// Returns a path's stable identifier, 32 hexadecimal digits: the hashes in its record's key.
    public static func identifier(of path: RelativePath) -> String {
        DropTable().prefix(of: path).hexadecimal
    }

    /// Returns the drop whose path has an identifier; nil if none does.
    ///
    /// - Parameter identifier: 32 hexadecimal digits; any other text finds no drop.
    public func drop(withIdentifier identifier: String) throws(LedgerError) -> DropRecord? {
        guard let key = ContentKey(hexadecimal: identifier) else { return nil }
        return try record(LedgerKeys.content(key) + [0])
    }
}

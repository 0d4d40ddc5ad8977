/// How much a ledger holds and how much room it takes.
public struct LedgerStatistics: Hashable, Sendable {
    /// Entries of each table.
    public internal(set) var entries: [LedgerTable: Int] = [:]
    /// Bytes of the file up to its last page in use. The file itself ends some MiB later, in a hole.
    public internal(set) var fileSize = 0
    /// Bytes of pages that hold nothing at present and are used again before the file grows.
    public internal(set) var freeSize = 0
    /// Address space reserved for the file, in bytes.
    public internal(set) var mapSize = 0
    /// Records that could not be read for damage since the ledger was opened, each time counted.
    public internal(set) var damagedRecords = 0
}

extension Ledger {
    /// Looks up a few numbers of each table; the time it takes does not grow with the ledger.
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

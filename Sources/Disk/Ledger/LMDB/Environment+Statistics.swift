import CLMDB

/// Pages and entries of an environment.
struct PageCounts {
    /// Page size in bytes.
    var size: Int
    /// Number of pages up to the last one in use.
    var used: Int
    /// Address space in bytes.
    var map: Int
    /// Number of pages in LMDB's internal trees: free pages, and names of tables.
    var own: Int
    /// Entries and pages of each table, in the order of the environment's tables.
    var tables: [(entries: Int, pages: Int)]
}

extension Environment {
    /// Counts pages and entries from the tree heads.
    func pageCounts() throws(LMDBError) -> PageCounts {
        let information = try information()
        return try read { transaction throws(LMDBError) in
            var tables: [(entries: Int, pages: Int)] = []
            for table in transaction.tables {
                let found = try transaction.statistics(table)
                tables.append((Int(found.ms_entries), found.pages))
            }
            // "FREE_DBI 0, MAIN_DBI 1" (mdb.c): every environment has these two.
            let own = try transaction.statistics(0)
            return PageCounts(
                size: Int(own.ms_psize), used: Int(information.me_last_pgno) + 1, map: Int(information.me_mapsize),
                own: own.pages + (try transaction.statistics(1)).pages, tables: tables)
        }
    }
}

extension MDB_stat {
    fileprivate var pages: Int { Int(ms_branch_pages) + Int(ms_leaf_pages) + Int(ms_overflow_pages) }
}

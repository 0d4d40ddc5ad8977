import Glibc
import LinuxSystem
import SystemPackage

/// The tables of a ledger's file, read page by page while no ledger has the file open.
struct LedgerPages {
    /// The result of visiting all pages.
    struct Survey {
        /// The first fault found; nil if LMDB can rely on every page.
        var fault: String?
        /// Tables missing although others exist.
        var missing: [LedgerTable]
    }

    private let file: SharedDescriptor
    private let head: MetaPages

    /// - Throws: `Errno` if the file cannot be opened or its header cannot be read.
    init(path: String) throws(Errno) {
        file = try SharedDescriptor(opening: path, flags: O_RDONLY)
        head = try MetaPages(of: file)
    }

    /// Whether the file is empty.
    var isEmpty: Bool { head.size == 0 }

    /// Bytes in use, free pages included.
    var size: UInt64 { min(head.size, head.current?.fileSize ?? head.size) }

    /// Passes every reachable record to `body`: table, key and value.
    ///
    /// - Returns: the fault of the pages, and the missing tables.
    func visit(_ body: (LedgerTable, [UInt8], [UInt8]) -> Void) -> Survey {
        guard let meta = head.current else { return Survey(fault: "it has no valid meta page", missing: []) }
        var walk = PageWalk(file: file, meta: meta, size: head.size)
        if let fault = head.fault { walk.note(fault) }
        var heads: [LedgerTable: TreeHead] = [:]
        walk.visit(meta.main) { walk, key, value, flags in
            let table = LedgerTable(rawValue: String(decoding: key, as: UTF8.self))
            guard let table, flags == TreePage.subTree, value.count == TreeHead.size else {
                return walk.note("it has an unknown table")
            }
            heads[table] = TreeHead(value, at: 0)
        }
        for table in LedgerTable.allCases {
            guard let head = heads[table] else { continue }
            if head.flags != 0 { walk.note("the header of table \(table.rawValue) is damaged") }
            walk.visit(head) { walk, key, value, flags in
                if flags != 0 { walk.note("an entry of table \(table.rawValue) is damaged") }
                body(table, key, value)
            }
        }
        Self.visitFreePages(&walk, meta)
        let missing = heads.isEmpty ? [] : LedgerTable.allCases.filter { heads[$0] == nil }
        return Survey(fault: walk.fault, missing: missing)
    }

    /// Visits the free pages. LMDB stores them by the transaction that freed them, as a count and the page numbers in
    /// descending order (`mdb_freelist_save` in mdb.c). LMDB would overwrite a free page that is also in use.
    private static func visitFreePages(_ walk: inout PageWalk, _ meta: Meta) {
        walk.visit(meta.free, order: .words) { walk, key, value, flags in
            guard flags == 0, key.count == PageLayout.word, PageLayout.number(key, 0) <= meta.transaction,
                value.count >= PageLayout.word, value.count % PageLayout.word == 0,
                PageLayout.number(value, 0) < UInt64(value.count / PageLayout.word)
            else { return walk.note("the list of free pages is damaged") }
            var previous = UInt64.max
            for index in 0..<Int(PageLayout.number(value, 0)) {
                let page = PageLayout.number(value, (index + 1) * PageLayout.word)
                if page >= previous || !walk.meet(page) { return walk.note("the list of free pages is damaged") }
                previous = page
            }
        }
    }
}

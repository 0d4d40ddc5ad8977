import Glibc
import LinuxSystem
import SystemPackage

/// The tables of a ledger's file, read page by page while nobody has it open.
struct LedgerPages {
    /// What can be said of the pages once all were met.
    struct Survey {
        /// What is wrong with them; nil where LMDB can rely on every one.
        var fault: String?
        /// Tables that are not there although others are.
        var missing: [LedgerTable]
    }

    private let file: SharedDescriptor
    private let head: MetaPages

    /// - Throws: `Errno` where the file can't be opened or read at its head.
    init(path: String) throws(Errno) {
        file = try SharedDescriptor(opening: path, flags: O_RDONLY)
        head = try MetaPages(of: file)
    }

    /// Whether nothing was ever written to it.
    var isEmpty: Bool { head.size == 0 }

    /// Bytes in use, pages to be used again included.
    var size: UInt64 { min(head.size, head.current?.fileSize ?? head.size) }

    /// Hands every record that can be reached to `body`: table, key and value.
    ///
    /// - Returns: what is wrong with the pages, and which tables there are not.
    func visit(_ body: (LedgerTable, [UInt8], [UInt8]) -> Void) -> Survey {
        guard let meta = head.current else { return Survey(fault: "it has no head that makes sense", missing: []) }
        var walk = PageWalk(file: file, meta: meta, size: head.size)
        if let fault = head.fault { walk.note(fault) }
        var heads: [LedgerTable: TreeHead] = [:]
        walk.visit(meta.main) { walk, key, value, flags in
            let table = LedgerTable(rawValue: String(decoding: key, as: UTF8.self))
            guard let table, flags == TreePage.subTree, value.count == TreeHead.size else {
                return walk.note("it has a table it should not have")
            }
            heads[table] = TreeHead(value, at: 0)
        }
        for table in LedgerTable.allCases {
            guard let head = heads[table] else { continue }
            if head.flags != 0 { walk.note("the head of table \(table.rawValue) is damaged") }
            walk.visit(head) { walk, key, value, flags in
                if flags != 0 { walk.note("an entry of table \(table.rawValue) is damaged") }
                body(table, key, value)
            }
        }
        Self.visitFreePages(&walk, meta)
        let missing = heads.isEmpty ? [] : LedgerTable.allCases.filter { heads[$0] == nil }
        return Survey(fault: walk.fault, missing: missing)
    }

    /// The pages to be used again, as LMDB keeps them: by the transaction that freed them, a count and the numbers in
    /// descending order (`mdb_freelist_save` in mdb.c). One that is in use as well would be overwritten.
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

import Glibc
import LinuxSystem
import SystemPackage

/// The two meta pages at the head of an LMDB file, read with plain reads. A file shorter than its meta pages say
/// would raise SIGBUS once mapped, and LMDB does not check.
struct MetaPages {
    enum Problem: Equatable {
        /// Not an LMDB file of this format.
        case foreign
        /// The file is shorter than required; sizes in bytes.
        case cut(size: UInt64, needed: UInt64)
    }

    /// Size of the file in bytes.
    let size: UInt64
    /// The page at each position; nil for an invalid page.
    let metas: [Meta?]

    /// The page LMDB uses: the one with the later transaction.
    var current: Meta? { metas.compactMap(\.self).max { $0.transaction < $1.transaction } }

    /// The fault visible in the two pages alone; nil if there is none.
    ///
    /// Commits write the two pages in turn: even transactions the first, odd transactions the second
    /// (`mdb_env_write_meta` in mdb.c).
    var fault: String? {
        guard let first = metas[0], let second = metas[1] else { return "a meta page is damaged" }
        if first.pageSize != second.pageSize { return "its meta pages differ in page size" }
        let isNew = first.transaction == 0 && second.transaction == 0
        let isAlternating = first.transaction % 2 == 0 && second.transaction % 2 == 1
        let later = max(first.transaction, second.transaction)
        if !isNew, !isAlternating || later - min(first.transaction, second.transaction) != 1 {
            return "its meta pages name transactions that are not consecutive"
        }
        return nil
    }

    /// Checks a file before opening. A missing or empty file is fine: the ledger is about to create it.
    ///
    /// - Throws: `Errno` if the file cannot be read.
    static func problem(of path: String) throws(Errno) -> Problem? {
        let file: SharedDescriptor
        do throws(Errno) {
            file = try SharedDescriptor(opening: path, flags: O_RDONLY)
        } catch Errno.noSuchFileOrDirectory {
            return nil
        }
        let pages = try MetaPages(of: file)
        if pages.size == 0 { return nil }
        guard pages.size >= UInt64(Meta.end) else { return .cut(size: pages.size, needed: UInt64(Meta.end)) }
        guard let first = pages.metas[0] else { return .foreign }
        if pages.size < first.pageSize * 2 { return .cut(size: pages.size, needed: first.pageSize * 2) }
        guard pages.metas[1] != nil, let needed = pages.current?.fileSize else { return .foreign }
        return pages.size < needed ? .cut(size: pages.size, needed: needed) : nil
    }

    /// Reads both pages.
    ///
    /// - Throws: `Errno` if the pages cannot be read.
    init(of file: SharedDescriptor) throws(Errno) {
        size = try FileStatus(of: file.rawValue).size
        guard size >= UInt64(Meta.end) else {
            metas = [nil, nil]
            return
        }
        let first = Meta(try Self.bytes(of: file, at: 0), page: 0)
        // If the first page does not give the page size, look for the second page at every possible position.
        let sizes: [UInt64] = if let first { [first.pageSize] } else { (9...16).map { UInt64(1) << $0 } }
        var second: Meta?
        for size in sizes where second == nil {
            second = Meta(try Self.bytes(of: file, at: size), page: 1)
            if second?.pageSize != size { second = nil }
        }
        metas = [first, second]
    }

    private static func bytes(of file: SharedDescriptor, at offset: UInt64) throws(Errno) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Meta.end)
        let count = try bytes.withUnsafeMutableBufferPointer { buffer throws(Errno) in
            try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
        return Array(bytes.prefix(count))
    }
}

/// One meta page: the state of the file after one transaction.
///
/// Layout: `MDB_page`'s header and `struct MDB_meta` in mdb.c, data version 1; fields are in the machine's byte order
/// and word size.
struct Meta: Equatable {
    let pageSize: UInt64
    /// The tree of free pages, and the tree with the names of the other trees.
    let free: TreeHead
    let main: TreeHead
    let lastPage: UInt64
    let transaction: UInt64

    private static let databases = PageLayout.header + 8 + 2 * PageLayout.word
    /// Bytes up to the end of the fields.
    static let end = databases + 2 * TreeHead.size + 2 * PageLayout.word
    private static let magic: UInt32 = 0xBEEF_C0DE
    private static let version: UInt32 = 1
    private static let metaFlag: UInt16 = 8
    /// The tree's flag MDB_INTEGERKEY, and the file's flag MDB_NOSUBDIR, which LMDB stores in the same field.
    private static let freeFlags: UInt16 = 0x4008

    /// Bytes required to hold every page in use; nil if the number overflows.
    var fileSize: UInt64? {
        let (count, isLast) = lastPage.addingReportingOverflow(1)
        let (size, overflow) = count.multipliedReportingOverflow(by: pageSize)
        return isLast || overflow ? nil : size
    }

    /// Reads the fields.
    ///
    /// - Returns: nil if the fields are not those of a meta page, or not of a ledger's file.
    init?(_ bytes: [UInt8], page: UInt64) {
        guard bytes.count >= Self.end, PageLayout.number(bytes, 0) == page,
            PageLayout.short(bytes, PageLayout.word + 2) == Self.metaFlag,
            PageLayout.long(bytes, PageLayout.header) == Self.magic,
            PageLayout.long(bytes, PageLayout.header + 4) == Self.version
        else { return nil }
        free = TreeHead(bytes, at: Self.databases)
        main = TreeHead(bytes, at: Self.databases + TreeHead.size)
        pageSize = UInt64(PageLayout.long(bytes, Self.databases))
        lastPage = PageLayout.number(bytes, Self.databases + 2 * TreeHead.size)
        transaction = PageLayout.number(bytes, Self.databases + 2 * TreeHead.size + PageLayout.word)
        guard pageSize.nonzeroBitCount == 1, (512...65536).contains(pageSize), free.flags == Self.freeFlags,
            main.flags == 0, fileSize != nil
        else { return nil }
    }
}

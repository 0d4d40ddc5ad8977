/// Offsets in an LMDB file (`MDB_page`, `MDB_db`, `MDB_node` in mdb.c, data version 1), in the machine's byte order
/// and word size. Every given offset must lie inside the bytes.
enum PageLayout {
    static let word = MemoryLayout<UInt>.size
    /// Page number, padding, flags, and the bounds of the free part or the number of overflow pages.
    static let header = word + 8
    /// Size and flags of the data, size of the key.
    static let nodeHeader = 8
    /// "No page" (P_INVALID).
    static let noPage = UInt64(UInt.max)

    static func number(_ bytes: [UInt8], _ offset: Int) -> UInt64 { UInt64(load(bytes, offset, as: UInt.self)) }
    static func long(_ bytes: [UInt8], _ offset: Int) -> UInt32 { load(bytes, offset, as: UInt32.self) }
    static func short(_ bytes: [UInt8], _ offset: Int) -> UInt16 { load(bytes, offset, as: UInt16.self) }

    private static func load<Number: FixedWidthInteger>(_ bytes: [UInt8], _ offset: Int, as: Number.Type) -> Number {
        bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) }
    }
}

/// LMDB's header of one B+tree (`MDB_db`).
struct TreeHead: Equatable {
    var flags: UInt16
    var depth: UInt16
    var branchPages: UInt64
    var leafPages: UInt64
    var overflowPages: UInt64
    var entries: UInt64
    var root: UInt64

    static let size = 8 + 5 * PageLayout.word

    init(_ bytes: [UInt8], at offset: Int) {
        func number(_ index: Int) -> UInt64 { PageLayout.number(bytes, offset + 8 + index * PageLayout.word) }
        flags = PageLayout.short(bytes, offset + 4)
        depth = PageLayout.short(bytes, offset + 6)
        branchPages = number(0)
        leafPages = number(1)
        overflowPages = number(2)
        entries = number(3)
        root = number(4)
    }
}

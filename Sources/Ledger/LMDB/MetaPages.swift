import Glibc
import LinuxSystem
import SystemPackage

/// What the two meta pages at the head of an LMDB file say of it, read with plain reads: a file that is shorter than
/// that would raise SIGBUS once it is mapped, and LMDB does not look.
///
/// Layout: `MDB_page`'s header and `struct MDB_meta` in mdb.c, data version 1; fields are in the machine's byte order
/// and word size.
enum MetaPages {
    enum Problem: Equatable {
        /// Not an LMDB file of this format.
        case foreign
        /// Shorter than it must be, in bytes.
        case cut(size: UInt64, needed: UInt64)
    }

    private struct Meta {
        var pageSize: UInt64
        var lastPage: UInt64
        var transaction: UInt64
    }

    private static let word = MemoryLayout<UInt>.size
    private static let header = word + 8
    private static let magic: UInt32 = 0xBEEF_C0DE
    private static let version: UInt32 = 1
    private static let metaSize = header + 8 + 2 * word + 2 * (8 + 5 * word) + 2 * word

    /// Looks for what is wrong with a file that is about to be opened; one that is missing or empty is about to be
    /// created, and fine.
    ///
    /// - Throws: `Errno` where it can't be read.
    static func problem(of path: String) throws(Errno) -> Problem? {
        let raw: Int32
        do throws(Errno) {
            raw = try retryingOnInterrupt { Glibc.open(path, O_RDONLY | O_CLOEXEC) }
        } catch Errno.noSuchFileOrDirectory {
            return nil
        }
        let file = SharedDescriptor(Descriptor(owning: raw))
        let size = try FileStatus(of: file.rawValue).size
        if size == 0 { return nil }
        guard size >= UInt64(metaSize) else { return .cut(size: size, needed: UInt64(metaSize)) }
        guard let first = try meta(of: file, at: 0) else { return .foreign }
        if size < first.pageSize * 2 { return .cut(size: size, needed: first.pageSize * 2) }
        guard let second = try meta(of: file, at: first.pageSize) else { return .foreign }
        // LMDB goes by the page of the later transaction.
        let current = first.transaction > second.transaction ? first : second
        let (needed, overflow) = current.lastPage.addingReportingOverflow(1).partialValue
            .multipliedReportingOverflow(by: first.pageSize)
        if overflow { return .foreign }
        return size < needed ? .cut(size: size, needed: needed) : nil
    }

    private static func meta(of file: SharedDescriptor, at offset: UInt64) throws(Errno) -> Meta? {
        var bytes = [UInt8](repeating: 0, count: metaSize)
        let count = try bytes.withUnsafeMutableBufferPointer { buffer throws(Errno) in
            try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
        }
        guard count == metaSize else { return nil }
        return bytes.withUnsafeBytes { raw in
            func number(_ offset: Int) -> UInt64 { UInt64(raw.loadUnaligned(fromByteOffset: offset, as: UInt.self)) }
            let databases = header + 8 + 2 * word
            let lastPage = databases + 2 * (8 + 5 * word)
            let pageSize = UInt64(raw.loadUnaligned(fromByteOffset: databases, as: UInt32.self))
            guard raw.loadUnaligned(fromByteOffset: header, as: UInt32.self) == magic,
                raw.loadUnaligned(fromByteOffset: header + 4, as: UInt32.self) == version,
                pageSize.nonzeroBitCount == 1, (256...65536).contains(pageSize)
            else { return nil }
            return Meta(pageSize: pageSize, lastPage: number(lastPage), transaction: number(lastPage + word))
        }
    }
}

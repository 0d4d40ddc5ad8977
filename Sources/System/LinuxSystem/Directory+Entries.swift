import CLinux
import Glibc
public import SystemPackage

extension Directory {
    /// Calls `body` with each name in this directory without `.` and `..`, in no particular order, and with whether
    /// the name is a directory; nil if the file system does not report the type.
    ///
    /// readdir(3) is not used, since its `d_name` ends at 255 bytes, and some file systems count in characters (NTFS,
    /// exFAT) or allow more (ZFS, FUSE).
    ///
    /// - Throws: `Errno` of openat(2) or getdents64(2).
    public func forEachEntry(_ body: (_ name: UnsafeRawBufferPointer, _ isDirectory: Bool?) -> Void) throws(Errno) {
        let list = Descriptor(
            owning: try retryingOnInterrupt { outbox_openat(rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) })
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 << 10, alignment: 8)
        defer { buffer.deallocate() }
        while true {
            let count: Int
            do throws(Errno) {
                count = try retryingOnInterrupt { outbox_getdents64(list.rawValue, buffer.baseAddress, buffer.count) }
            } catch .noSuchFileOrDirectory {
                // Some file systems say so of a directory that was removed while it is open.
                return
            }
            if count == 0 { return }
            DirectoryRecords.forEach(in: UnsafeRawBufferPointer(rebasing: buffer[..<count]), body)
        }
    }

    /// Whether this directory and those on the path list their names in this very spelling. On a file system that ignores
    /// case, other spellings lead to the file, too. Reads each directory of the path.
    ///
    /// - Throws: `Errno` of openat2(2) or getdents64(2).
    public func lists(_ path: [UInt8]) throws(Errno) -> Bool {
        var directory = self
        var rest = path[...]
        while !rest.isEmpty {
            let name = rest.prefix { $0 != UInt8(ascii: "/") }
            rest = rest.dropFirst(name.count + 1)
            var isListed = false
            try directory.forEachEntry { entry, _ in if entry.elementsEqual(name) { isListed = true } }
            if !isListed { return false }
            if !rest.isEmpty { directory = try directory.directory(Array(name)) }
        }
        return true
    }
}

/// The records of getdents64(2): inode (8 bytes), offset (8), length of the record (2), type (1), name, NUL, padding.
enum DirectoryRecords {
    private static let lengthOffset = 16
    private static let kindOffset = 18
    private static let nameOffset = 19

    /// Calls `body` with each name but `.` and `..`, and with whether the name is a directory. Stops at a record that
    /// does not fit.
    static func forEach(
        in bytes: UnsafeRawBufferPointer, _ body: (_ name: UnsafeRawBufferPointer, _ isDirectory: Bool?) -> Void
    ) {
        var rest = bytes[...]
        while rest.count > nameOffset {
            let record = UnsafeRawBufferPointer(rebasing: rest)
            let length = Int(record.loadUnaligned(fromByteOffset: lengthOffset, as: UInt16.self))
            guard length > nameOffset, length <= record.count else { return }
            rest = rest.dropFirst(length)
            let name = UnsafeRawBufferPointer(rebasing: record[nameOffset..<length].prefix { $0 != 0 })
            if name.isEmpty || name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) { continue }
            let kind = Int(record[kindOffset])
            body(name, kind == Int(DT_UNKNOWN) ? nil : kind == Int(DT_DIR))
        }
    }
}

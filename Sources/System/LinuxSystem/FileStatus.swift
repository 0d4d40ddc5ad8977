import CLinux
import Glibc
public import SystemPackage

/// The file attributes that distinguish files and states of a file (man 2 statx).
public struct FileStatus: Equatable, Sendable {
    /// The type of a file.
    public enum Kind: Equatable, Sendable {
        /// A regular file.
        case regular
        /// A directory.
        case directory
        /// A symbolic link, not followed.
        case symbolicLink
        /// A FIFO.
        case fifo
        /// A Unix socket.
        case socket
        /// A block or character device, or a type newer than this list.
        case device
    }

    /// Kind of the object.
    public var kind: Kind
    /// Permission bits, the lower 12 bits of the mode.
    public var permissions: UInt32
    /// Device that holds the file.
    public var device: UInt64
    /// Inode number; ext4 reuses a number soon after the file's removal.
    public var inode: UInt64
    /// Number of hard links.
    public var links: UInt32
    /// User id of the owner.
    public var owner: UInt32
    /// Size in bytes.
    public var size: UInt64
    /// Last change of the content, nanoseconds since 1970; user programs may set it.
    public var modified: Int64
    /// Last change of content or attributes, nanoseconds since 1970; only the kernel sets it.
    public var changed: Int64
    /// Birth time, nanoseconds since 1970; 0 if the file system does not record birth times.
    public var born: Int64

    /// Reads the status of an open descriptor.
    ///
    /// - Throws: `Errno` of statx(2).
    public init(of descriptor: Int32) throws(Errno) {
        try self.init(at: descriptor, path: "", flags: AT_EMPTY_PATH)
    }

    /// Reads the status of an absolute path, following symbolic links.
    ///
    /// - Throws: `Errno` of statx(2).
    public init(path: String) throws(Errno) {
        try self.init(at: AT_FDCWD, path: path, flags: 0)
    }

    /// Reads the status of a name directly in a directory; describes a symbolic link instead of following it.
    ///
    /// - Parameter name: the name of a directory entry: a single path component, and not `..`.
    /// - Throws: `Errno` of statx(2).
    public init(ofName name: [UInt8], in directory: Directory) throws(Errno) {
        if name.contains(UInt8(ascii: "/")) || name.contains(0) { throw .invalidArgument }
        var raw = statx()
        try retryingOnInterrupt {
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: name.count + 1) { buffer in
                for (index, byte) in name.enumerated() { buffer[index] = CChar(bitPattern: byte) }
                buffer[name.count] = 0
                return outbox_statx(directory.rawValue, buffer.baseAddress, AT_SYMLINK_NOFOLLOW, &raw)
            }
        }
        self.init(raw)
    }

    init(at directory: Int32, path: UnsafePointer<CChar>, flags: Int32) throws(Errno) {
        var raw = statx()
        try retryingOnInterrupt { outbox_statx(directory, path, flags, &raw) }
        self.init(raw)
    }

    private init(_ raw: statx) {
        kind =
            switch UInt32(raw.stx_mode) & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            case S_IFIFO: .fifo
            case S_IFSOCK: .socket
            default: .device
            }
        permissions = UInt32(raw.stx_mode) & 0o7777
        device = outbox_makedev(raw.stx_dev_major, raw.stx_dev_minor)
        inode = raw.stx_ino
        links = raw.stx_nlink
        owner = raw.stx_uid
        size = raw.stx_size
        modified = Self.nanoseconds(raw.stx_mtime)
        changed = Self.nanoseconds(raw.stx_ctime)
        born = raw.stx_mask & UInt32(outbox_statx_btime) != 0 ? Self.nanoseconds(raw.stx_btime) : 0
    }

    private static func nanoseconds(_ time: statx_timestamp) -> Int64 {
        // Clamped instead of trapping: a file system may hold any second count.
        let (product, overflow) = time.tv_sec.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? (time.tv_sec < 0 ? .min : .max) : product.addingReportingOverflow(Int64(time.tv_nsec)).0
    }
}

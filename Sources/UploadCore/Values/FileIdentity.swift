/// Which file, in which state, some bytes were read from.
///
/// Inode numbers are used again soon and hard links share them, so size, modification and birth time must agree too.
/// A change of `changed` alone (chmod, link, rename) calls for a new hash at most.
public struct FileIdentity: Hashable, Sendable {
    /// Device the file lives on.
    public var device: UInt64
    /// Inode number.
    public var inode: UInt64
    /// Size in bytes.
    public var size: UInt64
    /// mtime, nanoseconds since 1970.
    public var modified: Int64
    /// ctime, nanoseconds since 1970.
    public var changed: Int64
    /// Birth time, nanoseconds since 1970; 0 where the file system keeps none.
    public var born: Int64

    /// Puts an identity together.
    public init(device: UInt64, inode: UInt64, size: UInt64, modified: Int64, changed: Int64, born: Int64) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
        self.born = born
    }

    /// What a file keeps under every name and when its file system is mounted anew, as long as nobody writes into it.
    public struct Mark: Hashable, Sendable {
        /// Inode number.
        public var inode: UInt64
        /// Birth time, nanoseconds since 1970; 0 where the file system keeps none.
        public var born: Int64
        /// Size in bytes.
        public var size: UInt64
        /// mtime, nanoseconds since 1970.
        public var modified: Int64
    }

    /// The identity without device and ctime.
    public var mark: Mark { Mark(inode: inode, born: born, size: size, modified: modified) }

    /// Whether both are one file, whatever was written into it meanwhile.
    public func isSameInode(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode && born == other.born
    }

    /// Whether both describe the same file with, as far as times and size tell, the same bytes; ctime may differ.
    public func isSameFile(as other: FileIdentity) -> Bool {
        var mine = self
        mine.changed = other.changed
        return mine == other
    }

    // MARK: Racily clean files

    /// The clock that stamps files ticks in up to 10 ms (CONFIG_HZ=100), also on file systems that store nanoseconds.
    private static let tick: Int64 = 10_000_000
    /// What vfat stores of an mtime; ext2 and ext3 with inodes of 128 bytes, HFS+ and SFTP store whole seconds.
    private static let coarsest: Int64 = 2_000_000_000

    /// Whether a write after `time` may leave both times as they are, so that the content read then can't be told from a
    /// later one: git calls such an entry of its index racily clean.
    ///
    /// The stamps themselves show how coarse they are. Only ctime counts where it is fine, since nobody can set it.
    ///
    /// - Parameter time: when reading began, nanoseconds since 1970.
    public func isRacy(readAt time: Int64) -> Bool {
        let isFine = changed % Self.tick != 0
        return (isFine ? [changed] : [changed, modified]).contains { stamp in
            let granularity = stamp % 1_000_000_000 == 0 ? Self.coarsest : Self.tick
            let (end, overflow) = stamp.addingReportingOverflow(granularity)
            return overflow || time < end
        }
    }

    /// The identity of a file that must be hashed once more: equal to that of no file that is looked at.
    public var untrusted: FileIdentity {
        var file = self
        file.changed = .min
        return file
    }

    /// Whether the file must be hashed once more.
    public var isUntrusted: Bool { changed == .min }
}

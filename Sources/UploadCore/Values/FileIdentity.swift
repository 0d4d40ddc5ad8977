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
}

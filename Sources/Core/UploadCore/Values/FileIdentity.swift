/// Identifies the file, and its state, from which some bytes were read.
///
/// File systems soon reuse inode numbers, and hard links share them, so size, modification and birth time must match
/// too. If only `changed` differs (chmod, link, rename), at most a new hash is needed.
public struct FileIdentity: Hashable, Sendable {
    /// The device of the file system.
    public var device: UInt64
    /// The inode number.
    public var inode: UInt64
    /// The size in bytes.
    public var size: UInt64
    /// mtime in nanoseconds since 1970.
    public var modified: Int64
    /// ctime in nanoseconds since 1970.
    public var changed: Int64
    /// The birth time in nanoseconds since 1970; 0 if the file system stores none.
    public var born: Int64

    /// Creates an identity.
    public init(device: UInt64, inode: UInt64, size: UInt64, modified: Int64, changed: Int64, born: Int64) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
        self.born = born
    }

    /// The part of the identity that survives renames and remounts, as long as nobody writes to the file.
    public struct Mark: Hashable, Sendable {
        /// The inode number.
        public var inode: UInt64
        /// The birth time in nanoseconds since 1970; 0 if the file system stores none.
        public var born: Int64
        /// The size in bytes.
        public var size: UInt64
        /// mtime in nanoseconds since 1970.
        public var modified: Int64
    }

    /// The identity without device and ctime.
    public var mark: Mark { Mark(inode: inode, born: born, size: size, modified: modified) }

    /// Whether both identities belong to the same file, even if its content changed in between.
    public func isSameInode(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode && born == other.born
    }

    /// Whether both identities belong to the same file with, judging by times and size, the same bytes. ctime may
    /// differ.
    public func isSameFile(as other: FileIdentity) -> Bool {
        var mine = self
        mine.changed = other.changed
        return mine == other
    }

    // MARK: Racily clean files

    /// The clock for file times may tick only every 10 ms (CONFIG_HZ=100), even on file systems that store nanoseconds.
    private static let tick: Int64 = 10_000_000
    /// The granularity of mtime on vfat. ext2 and ext3 with inodes of 128 bytes, HFS+ and SFTP store whole seconds.
    private static let coarsest: Int64 = 2_000_000_000

    /// Whether a write after `time` might leave both times unchanged, so that a reader at `time` can't rule out later
    /// changes. git calls such an index entry racily clean.
    ///
    /// The times themselves show their granularity. If ctime is fine-grained, only ctime counts, since nobody can set
    /// it.
    ///
    /// - Parameter time: when the read began, in nanoseconds since 1970.
    public func isRacy(readAt time: Int64) -> Bool {
        let isFine = changed % Self.tick != 0
        return (isFine ? [changed] : [changed, modified]).contains { stamp in
            let (end, overflow) = stamp.addingReportingOverflow(Self.granularity(of: stamp))
            return overflow || time < end
        }
    }

    /// Returns the largest number of nanoseconds by which a time of a file may lie before the change.
    package static func granularity(of stamp: Int64) -> Int64 { stamp % 1_000_000_000 == 0 ? coarsest : tick }

    /// The identity marked as untrusted, so that the file is hashed again. Equals no identity found on disk.
    public var untrusted: FileIdentity {
        var file = self
        file.changed = .min
        return file
    }

    /// Whether the file must be hashed again.
    public var isUntrusted: Bool { changed == .min }
}

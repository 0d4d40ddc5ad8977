import CLinux
import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// A file system's type, which decides how directories on the file system can be watched (man 2 statfs).
public struct FileSystemType: Equatable, Sendable {
    /// The lower 32 bits of `f_type`.
    let magic: UInt32
    /// The type's name, or the magic number in hexadecimal for a type outside the tables.
    public let name: String
    /// Whether files can change without this kernel noticing: a server and its other clients, or the process behind a
    /// FUSE mount, can write to the file system directly. No events report such changes, and no lease blocks such
    /// writers.
    public let isShared: Bool

    /// Looks a magic number up.
    ///
    /// A number outside the tables counts as shared: polling a watchable directory costs a little, but watching a
    /// directory that needs polling loses files.
    public init(magic: UInt32) {
        self.magic = magic
        if let name = Self.local[magic] {
            self.name = name
            isShared = false
        } else {
            name = Self.shared[magic] ?? "0x" + String(magic, radix: 16)
            isShared = true
        }
    }

    /// Looks up the file system of an open file or directory.
    ///
    /// - Throws: `Errno` of fstatfs(2).
    init(of descriptor: Int32) throws(Errno) {
        var raw = statfs()
        try retryingOnInterrupt { fstatfs(descriptor, &raw) }
        self.init(magic: UInt32(truncatingIfNeeded: raw.f_type))
    }

    /// Whether the kernel alone answers for file systems of a type, as named in the mount table.
    static func answers(_ name: String) -> Bool { localNames.contains(name) }

    private static let localNames = Set(local.values).union(["ext2", "ext3", "xfs", "rootfs"])

    /// File systems that other machines or processes can change. Sources: linux/magic.h, man 2 statfs, and for types
    /// outside Linux the list of coreutils' stat(1). `fuse` also covers virtiofs, sshfs and rclone, and ntfs-3g on a
    /// local disk.
    static let shared: [UInt32: String] = [
        0x6969: "nfs", 0x517B: "smb", 0xFF53_4D42: "cifs", 0xFE53_4D42: "smb2", 0x6573_5546: "fuse",
        0x0102_1997: "9p", 0x5346_414F: "afs", 0x6B41_4653: "kafs", 0x00C3_6400: "ceph", 0x7375_7245: "coda",
        0x564C: "ncp", 0x786F_4256: "vboxsf", 0xBACB_ACBC: "vmhgfs", 0x7C7C_6673: "prl_fs", 0x0BD0_0BD0: "lustre",
        0x0116_1970: "gfs2", 0x7461_636F: "ocfs2", 0x4750_4653: "gpfs", 0x1983_0326: "beegfs",
        0x2003_0528: "orangefs", 0x00C0_FFEE: "hostfs",
    ]

    /// File systems that only this kernel changes.
    static let local: [UInt32: String] = [
        0xEF53: "ext4", 0x9123_683E: "btrfs", 0x5846_5342: "xfs", 0xF2F5_2010: "f2fs", 0x0102_1994: "tmpfs",
        0x8584_58F6: "ramfs", 0x794C_7630: "overlay", 0x6175_6673: "aufs", 0xF15F: "ecryptfs", 0x2FC1_2FC1: "zfs",
        0xCA45_1A4E: "bcachefs", 0x5265_4973: "reiserfs", 0x3153_464A: "jfs", 0x3434: "nilfs", 0x72B6: "jffs2",
        0x2405_1905: "ubifs", 0x4D44: "vfat", 0x2011_BAB0: "exfat", 0x5346_544E: "ntfs", 0x7366_746E: "ntfs3",
        0x482B: "hfsplus", 0x1501_3346: "udf", 0x9660: "iso9660", 0x7371_7368: "squashfs", 0xE0F5_E1E2: "erofs",
        0x137F: "minix",
    ]
}

/// The kernel calls of the watch, replaceable in tests.
struct Kernel: Sendable {
    /// Opens an inotify instance that signals the given wakeup.
    var openQueue: @Sendable (Wakeup) throws(Errno) -> InotifyQueue = { wakeup throws(Errno) in
        try InotifyQueue(wakeup: wakeup)
    }
    /// Opens the mount table.
    var openMounts: @Sendable () throws(Errno) -> MountMonitor = { () throws(Errno) in try MountMonitor() }
    /// Watches a directory.
    var watch: @Sendable (InotifyQueue, Directory, _ isRoot: Bool) throws(Errno) -> Int32 = {
        queue, directory, isRoot throws(Errno) in try queue.watch(directory, isRoot: isRoot)
    }
    /// Returns the file system of an open file; nil if fstatfs(2) fails.
    var fileSystem: @Sendable (Int32) -> FileSystemType? = { try? FileSystemType(of: $0) }
    /// Whether directories list a path in this very spelling; true if unknown.
    var lists: @Sendable (Directory, RelativePath) -> Bool = { root, path in (try? root.lists(path.bytes)) ?? true }
    /// Reads a limit's current setting.
    var limit: @Sendable (InotifyLimit) -> InotifyLimit.Setting? = { $0.setting() }
}

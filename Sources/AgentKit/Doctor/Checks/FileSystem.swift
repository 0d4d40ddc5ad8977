/// The file system a directory stands on (man 2 statfs).
struct FileSystem: Equatable, Sendable {
    /// What follows from its type.
    enum Kind: Equatable, Sendable {
        case local
        /// Other machines change it, and the kernel tells nothing of it.
        case network
        /// A program implements it: it may stand for anything.
        case fuse
        /// Gone with the next boot.
        case memory
        /// Knows no owners and modes.
        case withoutModes
    }

    /// As people know it: `ext4`, `NFS`.
    var name: String
    var kind: Kind
    var isReadOnly: Bool
    /// Bytes that an unprivileged user can still write.
    var available: UInt64
    /// Number of files that can still be made; nil where the file system makes them as needed.
    var freeInodes: UInt64?
}

extension FileSystem {
    /// Name and kind by the magic number of statfs(2); constants from linux/magic.h and the manual page.
    static func identify(magic: UInt32) -> (name: String, kind: Kind) {
        table[magic] ?? ("type 0x\(String(magic, radix: 16))", .local)
    }

    private static let table: [UInt32: (name: String, kind: Kind)] = [
        0xEF53: ("ext4", .local), 0x9123_683E: ("btrfs", .local), 0x5846_5342: ("XFS", .local),
        0xF2F5_2010: ("F2FS", .local), 0x2FC1_2FC1: ("ZFS", .local), 0xCA45_1A4E: ("bcachefs", .local),
        0x794C_7630: ("overlay", .local), 0x7371_7368: ("squashfs", .local), 0x2405_1905: ("UBIFS", .local),
        0x0102_1994: ("tmpfs", .memory), 0x8584_58F6: ("ramfs", .memory),
        0x6969: ("NFS", .network), 0x517B: ("SMB", .network), 0xFF53_4D42: ("CIFS", .network),
        0xFE53_4D42: ("SMB", .network), 0x0102_1997: ("9P", .network), 0x00C3_6400: ("Ceph", .network),
        0x5346_414F: ("AFS", .network), 0x6B41_4653: ("AFS", .network), 0x7375_7245: ("Coda", .network),
        0x0BD0_0BD0: ("Lustre", .network), 0x0116_1970: ("GFS2", .network), 0x7461_636F: ("OCFS2", .network),
        0x786F_4256: ("vboxsf", .network), 0x6573_5546: ("FUSE", .fuse),
        0x4D44: ("FAT", .withoutModes), 0x2011_BAB0: ("exFAT", .withoutModes), 0x5346_544E: ("NTFS", .withoutModes),
        0x7366_746E: ("NTFS", .withoutModes),
    ]
}

import FileWatch

/// The file system of a directory (man 2 statfs).
struct FileSystem: Equatable, Sendable {
    /// Properties that follow from the file system's type.
    enum Kind: Equatable, Sendable {
        case local
        /// Other machines may change files without any kernel notification.
        case network
        /// A user-space program implements the file system, with unknown properties.
        case fuse
        /// Lost at the next boot.
        case memory
        /// Has no owners and modes.
        case withoutModes
    }

    /// The usual name: `ext4`, `NFS`.
    var name: String
    var kind: Kind
    var isReadOnly: Bool
    /// Bytes available to an unprivileged user.
    var available: UInt64
    /// Number of files that can still be created; nil if the file system creates inodes as needed.
    var freeInodes: UInt64?
}

extension FileSystem {
    /// Name and kind by the magic number of statfs(2). File systems unknown to the watch are polled, and count as
    /// network.
    static func identify(magic: UInt32) -> (name: String, kind: Kind) {
        let type = FileSystemType(magic: magic)
        switch type.name {
        case "fuse": return (type.name, .fuse)
        case "tmpfs", "ramfs": return (type.name, .memory)
        case "vfat", "exfat", "ntfs", "ntfs3": return (type.name, .withoutModes)
        default: return (type.name, type.isShared ? .network : .local)
        }
    }
}

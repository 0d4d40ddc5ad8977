import FileWatch

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
    /// Name and kind by the magic number of statfs(2). What the watch does not know, it polls: that is said of it here.
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

import CLinux
import Glibc
import LinuxSystem
import SystemPackage

extension FileSystem {
    /// Queries the file system of a directory (man 3 fstatvfs, man 2 fstatfs).
    ///
    /// - Throws: `Errno`.
    init(at path: String) throws(Errno) {
        let directory = try SharedDescriptor(opening: path, flags: O_PATH | O_DIRECTORY)
        var type = statfs()
        try retryingOnInterrupt { fstatfs(directory.rawValue, &type) }
        var room = statvfs()
        try retryingOnInterrupt { fstatvfs(directory.rawValue, &room) }
        let identity = Self.identify(magic: UInt32(truncatingIfNeeded: type.f_type))
        name = identity.name
        kind = identity.kind
        isReadOnly = UInt(room.f_flag) & UInt(ST_RDONLY) != 0
        available = UInt64(room.f_bavail) * UInt64(room.f_frsize)
        // Btrfs and FAT create inodes as needed, and report 0 of 0.
        freeInodes = room.f_files == 0 ? nil : UInt64(room.f_favail)
    }
}

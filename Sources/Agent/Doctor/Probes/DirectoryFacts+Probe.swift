import CLinux
import Glibc
import LinuxSystem
import SystemPackage

extension DirectoryFacts {
    /// Examines a directory without changing anything.
    init(probing path: String) {
        self.path = path
        user = geteuid()
        state = Self.look(at: path)
    }

    private static func look(at path: String) -> State {
        do throws(Errno) {
            let status = try FileStatus(path: path)
            guard status.kind == .directory else { return .notADirectory }
            return .present(
                Present(
                    permissions: status.permissions, owner: status.owner, isReadable: may(R_OK | X_OK, path),
                    isWritable: may(W_OK | X_OK, path), fileSystem: try FileSystem(at: path)))
        } catch {
            return error == .noSuchFileOrDirectory ? prospect(of: path) : .unreachable("\(error)")
        }
    }

    /// Checks access with the effective user id, as open(2) does; a read-only mount counts (man 2 faccessat).
    private static func may(_ mode: Int32, _ path: String) -> Bool { faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 }

    /// Whether the agent could create the directory: it must be able to write to the nearest existing parent.
    private static func prospect(of path: String) -> State {
        var parent = Substring(path)
        while let slash = parent.lastIndex(of: "/") {
            parent = parent[..<slash]
            let directory = parent.isEmpty ? "/" : String(parent)
            guard let status = try? FileStatus(path: directory) else { continue }
            guard status.kind == .directory else { return .missing(obstacle: "\(directory) is not a directory") }
            let obstacle = may(W_OK | X_OK, directory) ? nil : "\(directory) can't be written to"
            return .missing(obstacle: obstacle, on: try? FileSystem(at: directory))
        }
        return .missing(obstacle: "no parent directory exists")
    }
}

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

import CDisk
import Glibc
import SystemPackage

/// An open directory.
///
/// Every file below the root is named relative to a `Folder`, by a single component or by a two-component name this
/// program made. Symbolic links are never followed, so a file name from a client cannot escape the root.
struct Folder: Sendable {
    private let file: OpenFile

    private init(_ file: OpenFile) {
        self.file = file
    }

    /// Opens the directory at `path`, and creates the directory if it is missing. Follows symbolic links in `path`,
    /// because the administrator chose them.
    static func root(at path: String) throws(Errno) -> Folder {
        if mkdir(path, 0o700) == -1, errno != EEXIST { throw Errno(rawValue: errno) }
        let descriptor = try retrying { Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        return Folder(OpenFile(adopting: descriptor))
    }

    /// Opens the directory at `path` and creates nothing. Returns nil if there is none.
    static func existing(at path: String) throws(Errno) -> Folder? {
        do throws(Errno) {
            let descriptor = try retrying { Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            return Folder(OpenFile(adopting: descriptor))
        } catch .noSuchFileOrDirectory {
            return nil
        } catch .notDirectory {
            return nil
        }
    }

    private var descriptor: Int32 { file.descriptor }

    func open(_ name: String, _ flags: Int32, mode: mode_t = 0) throws(Errno) -> OpenFile {
        let flags = flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        return OpenFile(adopting: try retrying { openat(descriptor, name, flags, mode) })
    }

    /// Opens a file for reading. Returns nil if the file does not exist.
    func openExisting(_ name: String) throws(Errno) -> OpenFile? {
        do {
            return try open(name, O_RDONLY)
        } catch .noSuchFileOrDirectory {
            return nil
        }
    }

    /// Opens the subdirectory `name`, and creates it if it is missing. Throws `.notDirectory` or
    /// `.tooManySymbolicLinkLevels` if `name` is taken by something else.
    /// - Parameter noteCreation: called if it was missing.
    func folder(_ name: String, _ noteCreation: () -> Void = {}) throws(Errno) -> Folder {
        do {
            return Folder(try open(name, O_RDONLY | O_DIRECTORY))
        } catch .noSuchFileOrDirectory {
            if mkdirat(descriptor, name, 0o755) == 0 {
                noteCreation()
            } else if errno != EEXIST {
                throw Errno(rawValue: errno)
            }
            return Folder(try open(name, O_RDONLY | O_DIRECTORY))
        }
    }

    /// Opens the subdirectory `name`. Returns nil if there is none, or if something else has this name.
    func existingFolder(_ name: String) throws(Errno) -> Folder? {
        do throws(Errno) {
            return Folder(try open(name, O_RDONLY | O_DIRECTORY))
        } catch .noSuchFileOrDirectory {
            return nil
        } catch .notDirectory {
            return nil
        } catch .tooManySymbolicLinkLevels {
            return nil
        }
    }

    /// Returns nil if `name` does not exist.
    func status(of name: String) throws(Errno) -> FileStatus? {
        do {
            return try FileStatus(of: name, in: descriptor, flags: AT_SYMLINK_NOFOLLOW)
        } catch .noSuchFileOrDirectory {
            return nil
        }
    }

    /// Creates a hard link to `name`. Never overwrites: throws `.fileExists` if `newName` is taken.
    func link(_ name: String, into other: Folder, as newName: String) throws(Errno) {
        _ = try retrying { linkat(descriptor, name, other.descriptor, newName, 0) }
    }

    /// Moves a file; overwrites `newName`.
    func rename(_ name: String, into other: Folder, as newName: String) throws(Errno) {
        _ = try retrying { renameat(descriptor, name, other.descriptor, newName) }
    }

    /// Removes a file. A missing file is no error.
    func remove(_ name: String) throws(Errno) {
        do {
            _ = try retrying { unlinkat(descriptor, name, 0) }
        } catch .noSuchFileOrDirectory {
            return
        }
    }

    /// Makes a finished file read-only and sets its modification time to the original one (seconds since 1970).
    func seal(_ name: String, modified: Int64?) throws(Errno) {
        _ = try retrying { fchmodat(descriptor, name, 0o444, 0) }
        guard let modified else { return }
        _ = try retrying { disk_set_times(descriptor, name, modified) }
    }

    func synchronize() throws(Errno) {
        _ = try retrying { fsync(descriptor) }
    }

    /// Flushes all pending writes of this file system, including those of other processes (man 2 syncfs).
    func synchronizeFileSystem() throws(Errno) {
        _ = try retrying { syncfs(descriptor) }
    }

    /// What an unprivileged user may still write to a file system.
    struct Space {
        /// In bytes.
        let free: Int64
        /// Whether less than a hundredth of the inodes is free. False for file systems without a fixed number.
        let isShortOfInodes: Bool
    }

    /// Returns what is free (man 3 statvfs).
    func space() throws(Errno) -> Space {
        let status = try fileSystem()
        return Space(
            free: Int64(clamping: UInt64(status.f_bavail) &* UInt64(status.f_frsize)),
            isShortOfInodes: status.f_files > 0 && status.f_favail < status.f_files / 100)
    }

    /// Whether this file system is mounted read-only, as after a failure of its disk.
    func isReadOnly() throws(Errno) -> Bool { try fileSystem().f_flag & UInt(ST_RDONLY) != 0 }

    private func fileSystem() throws(Errno) -> statvfs {
        var status = statvfs()
        _ = try retrying { fstatvfs(descriptor, &status) }
        return status
    }

    /// An entry of a directory, valid while ``forEachEntry(_:)`` shows it.
    struct Entry {
        fileprivate let pointer: UnsafeMutablePointer<dirent>

        /// Nil if the name is no valid UTF-8.
        var name: String? { String(validatingCString: disk_entry_name(pointer)) }
        var inode: UInt64 { UInt64(pointer.pointee.d_ino) }
        /// Whether this may be a directory: some file systems do not say (man 3 readdir).
        var mayBeDirectory: Bool { [DT_DIR, DT_UNKNOWN].contains(Int(pointer.pointee.d_type)) }
    }

    /// Returns the names in this directory that are valid UTF-8, without `.` and `..`.
    func names() throws(Errno) -> [String] {
        var names: [String] = []
        try forEachEntry { entry in
            if let name = entry.name, name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Calls `body` with each entry of this directory, `.` and `..` included.
    func forEachEntry(_ body: (Entry) throws(Errno) -> Void) throws(Errno) {
        let copy = try retrying { openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard let stream = fdopendir(copy) else {
            close(copy)
            throw Errno(rawValue: errno)
        }
        defer { closedir(stream) }
        errno = 0
        while let entry = readdir(stream) {
            try body(Entry(pointer: entry))
            errno = 0
        }
        if errno != 0 { throw Errno(rawValue: errno) }
    }

    /// Locks the directory for this process until the returned file is closed. Throws `.wouldBlock` if another
    /// process holds the lock.
    func lock(_ name: String) throws(Errno) -> OpenFile {
        let file = try open(name, O_RDWR | O_CREAT, mode: 0o600)
        _ = try retrying { flock(file.descriptor, LOCK_EX | LOCK_NB) }
        return file
    }
}

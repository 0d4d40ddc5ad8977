package import FileWatch
import Glibc
package import LinuxSystem
package import SystemPackage
package import UploadCore

/// The files of the outbox. Look-ups by relative path never leave the outbox.
///
/// Every look-up opens the directory anew, since it may be unmounted at any time and come back. Until it is back, look-ups
/// throw `.staleNFSFileHandle`. The files of a batch share one open directory (`open(_:in:)`).
///
/// Look-ups on a file system that does not answer throw `.timedOut` (`OutboxMounts`).
package struct OutboxFiles: Sendable {
    /// The outbox.
    package let outbox: PinnedDirectory
    /// The file systems of the outbox that may not answer; `nil` if every look-up may block.
    package let mounts: OutboxMounts?
    /// Whether look-ups on such a file system block: for threads that can be replaced.
    private var mayBlock = false

    /// Absolute path of the outbox, which may itself be a symbolic link.
    package var root: String { outbox.path }

    package init(_ outbox: PinnedDirectory, mounts: OutboxMounts? = nil) {
        self.outbox = outbox
        self.mounts = mounts
    }

    package init(root: String) {
        self.init(PinnedDirectory(path: root))
    }

    /// The same files for threads that can be replaced: look-ups block as long as they take.
    package var blocking: OutboxFiles {
        var files = self
        files.mayBlock = true
        return files
    }

    /// Makes a call that looks at a path.
    ///
    /// - Parameters:
    ///   - work: what the call does, for people: "opening".
    ///   - keepsResult: whether the next call may get the result of this one if it returns late.
    ///   - body: gets the closer for what it opens. May run on after this function has thrown.
    /// - Throws: the error of the call; `.timedOut` if its file system does not answer.
    package func call<Result: Sendable>(
        _ path: RelativePath, _ work: String, keepsResult: Bool = true,
        _ body: @escaping @Sendable (SharedDescriptor.Closer?) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        guard let mounts else { return try body(nil) }
        if mayBlock { return try body(mounts.place(of: path)?.closer) }
        return try mounts.call(path, work, keepsResult: keepsResult, body)
    }

    /// Returns the status of a path. Symbolic links are described, not followed.
    package func status(of path: RelativePath) throws(Errno) -> FileStatus {
        try call(path, "finding") { [outbox] closer throws(Errno) in try outbox.open(closer: closer).status(path.bytes)
        }
    }

    /// Identifies the outbox across restarts; `nil` if the outbox is missing. Device numbers are not included,
    /// because they change when a medium comes back.
    package var identity: [UInt8]? {
        guard let status = try? status(of: .root) else { return nil }
        return Array("\(status.inode) \(status.born)".utf8)
    }

    /// Whether the file system of the outbox has less than 1 MiB left. `false` if unknown.
    package var isDiskFull: Bool {
        var room = statvfs()
        guard let directory = try? outbox.open(), fstatvfs(directory.rawValue, &room) == 0, room.f_blocks > 0 else {
            return false
        }
        return UInt64(room.f_bavail) * UInt64(room.f_frsize) < 1 << 20
    }

    /// Returns what exists at a path. The result is `.unknown` if the look-up fails.
    package func look(at path: RelativePath) -> FileLook {
        do throws(Errno) {
            let status = try status(of: path)
            let kind: FileLook.Kind =
                switch status.kind {
                case .regular: .regular
                case .directory: .directory
                case .symbolicLink, .fifo, .socket, .device: .other
                }
            return .there(kind, FileIdentity(status))
        } catch {
            let isGone = [.noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels].contains(error)
            return isGone ? .nothing : .unknown
        }
    }

    /// Whether no file has this name any more. A directory with this name does not count as the file.
    package func isGone(_ path: RelativePath) -> Bool { look(at: path).isGone }

    /// Returns the names in a directory; `nil` if it can't be listed.
    package func names(in directory: RelativePath) -> Set<[UInt8]>? {
        (try? outbox.open().directory(directory.bytes).entries()).map { Set($0.map(\.name)) }
    }

    /// Lists everything below a directory except directories, as far as listing succeeds.
    ///
    /// - Parameter most: maximum number of names to read.
    package func names(below directory: RelativePath, atMost most: Int) -> [RelativePath] {
        var found: [RelativePath] = []
        var directories = [directory]
        var seen = 0
        while let directory = directories.popLast(), seen < most {
            for entry in (try? entries(of: directory)) ?? [] where seen < most {
                seen += 1
                let path = directory.appending(entry.name)
                if (try? status(of: path))?.kind == .directory {
                    directories.append(path)
                } else {
                    found.append(path)
                }
            }
        }
        return found
    }

    /// Opens a directory, to write to it.
    ///
    /// - Throws: `Errno`; `.staleNFSFileHandle` for a mount point without its mount: nothing is written there.
    package func directory(_ path: RelativePath) throws(Errno) -> Directory {
        try call(path, "opening") { [outbox, mounts] closer throws(Errno) in
            let directory = try outbox.open(closer: closer).directory(path.bytes, closer: closer)
            // Asked last: from here on, the open directory leads to no other file system.
            if mounts?.isBare(path) == true { throw .staleNFSFileHandle }
            return directory
        }
    }

    /// Returns the lane for calls on a path; nil if such calls return.
    package func lane(of path: RelativePath) -> Lanes.Lane? { mounts?.lane(of: path) }

    /// Returns the names in a directory.
    package func entries(of directory: RelativePath) throws(Errno) -> [Directory.Entry] {
        try call(directory, "listing") { [outbox] closer throws(Errno) in
            try outbox.open(closer: closer).directory(directory.bytes, closer: closer).entries()
        }
    }

    /// Opens a regular file for reading.
    ///
    /// - Parameter opened: the outbox; `nil` to open it for this file alone.
    /// - Throws: `Errno`; `.invalidArgument` if the path is not a regular file.
    package func open(
        _ path: RelativePath, in opened: Directory? = nil
    ) throws(Errno) -> (file: SharedDescriptor, status: FileStatus) {
        let found = try call(path, "opening") { [outbox] closer throws(Errno) in
            let directory = if let opened { opened } else { try outbox.open(closer: closer) }
            // Check the type before opening: opening a device may have side effects.
            guard try directory.status(path.bytes).kind == .regular else { throw .invalidArgument }
            let file = SharedDescriptor(
                try directory.open(path.bytes, flags: O_RDONLY | O_NOFOLLOW), closer: closer)
            let status = try FileStatus(of: file.rawValue)
            guard status.kind == .regular else { throw .invalidArgument }
            return Found(file: file, status: status)
        }
        return (found.file, found.status)
    }

    /// Reads the begin of a small file.
    package func read(_ path: RelativePath, atMost most: Int) throws(Errno) -> [UInt8] {
        try call(path, "reading") { [blocking] _ throws(Errno) in
            let (file, _) = try blocking.open(path)
            var bytes = [UInt8](repeating: 0, count: most)
            let count = try bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(Errno) in try file.read(into: buffer, at: 0) }
            }.get()
            return Array(bytes.prefix(count))
        }
    }

    private struct Found: Sendable {
        var file: SharedDescriptor
        var status: FileStatus
    }

    /// Opens a regular file for reading; nil if it can't be opened, or is no longer the same file.
    package func open(_ path: RelativePath, ifStill identity: FileIdentity?) -> SharedDescriptor? {
        guard let (file, status) = try? open(path), identity?.isSameFile(as: FileIdentity(status)) == true else {
            return nil
        }
        return file
    }
}

extension FileIdentity {
    /// The identity in a file status.
    package init(_ status: FileStatus) {
        self.init(
            device: status.device, inode: status.inode, size: status.size, modified: status.modified,
            changed: status.changed, born: status.born)
    }
}

import CLinux
import Glibc
public import SystemPackage

/// An open directory; look-ups of names below the directory never leave it.
///
/// Every look-up goes through `openat2` with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS` (man 2 openat2): a symbolic link
/// anywhere in the path, or a `..`, is an error and never followed. Paths are bytes, since a legal Linux file name
/// need not be UTF-8. Paths have no leading slash, and an empty path means the directory itself. They may be longer than
/// the kernel takes at once.
public final class Directory: Sendable {
    /// One name found in a directory.
    public struct Entry: Equatable, Sendable {
        /// The name's bytes.
        public var name: [UInt8]
        /// Whether the entry is a directory; nil if the file system does not report the type.
        public var isDirectory: Bool?
    }

    private let descriptor: SharedDescriptor

    /// The descriptor's number, valid for as long as this object is referenced.
    public var rawValue: Int32 { descriptor.rawValue }

    /// Opens an absolute path, which may end in a symbolic link.
    ///
    /// - Parameter closer: closes the directory; see ``SharedDescriptor``.
    /// - Throws: `Errno` of open(2).
    public init(path: String, closer: SharedDescriptor.Closer? = nil) throws(Errno) {
        let raw = try retryingOnInterrupt { Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        descriptor = SharedDescriptor(Descriptor(owning: raw), closer: closer)
    }

    private init(owning descriptor: consuming Descriptor, closer: SharedDescriptor.Closer? = nil) {
        self.descriptor = SharedDescriptor(descriptor, closer: closer)
    }

    /// Opens a file or directory below this directory, close-on-exec, and never blocks on a FIFO.
    ///
    /// - Parameters:
    ///   - path: relative path, as bytes.
    ///   - flags: flags of open(2), for instance `O_RDONLY`.
    ///   - mode: permission bits if `flags` has `O_CREAT`.
    /// - Throws: `Errno`; `.tooManySymbolicLinkLevels` if the path contains a symbolic link.
    public func open(_ path: [UInt8], flags: Int32, mode: UInt32 = 0) throws(Errno) -> Descriptor {
        let resolve = outbox_resolve_beneath | outbox_resolve_no_symlinks
        // man 2 openat2: O_PATH allows no O_NONBLOCK and needs none, since O_PATH does not open the file itself.
        let blocking = flags & O_PATH != 0 ? flags : flags | O_NONBLOCK
        let all = UInt64(UInt32(bitPattern: blocking | O_CLOEXEC))
        let raw = try withPath(path.isEmpty ? [UInt8(ascii: ".")] : path) { base, name throws(Errno) in
            try retryingOnInterrupt { outbox_openat2(base, name, all, UInt64(mode), resolve) }
        }
        return Descriptor(owning: raw)
    }

    /// Opens a directory below this one.
    ///
    /// - Parameter closer: closes the directory; see ``SharedDescriptor``.
    /// - Throws: `Errno` of openat2(2).
    public func directory(_ path: [UInt8], closer: SharedDescriptor.Closer? = nil) throws(Errno) -> Directory {
        Directory(owning: try open(path, flags: O_RDONLY | O_DIRECTORY), closer: closer)
    }

    /// Returns the status of a name below this directory; describes a symbolic link instead of following it.
    ///
    /// - Throws: `Errno`; `.tooManySymbolicLinkLevels` if a directory on the way is a symbolic link.
    public func status(_ path: [UInt8] = []) throws(Errno) -> FileStatus {
        let descriptor = try open(path, flags: O_PATH | O_NOFOLLOW)
        return try FileStatus(of: descriptor.rawValue)
    }

    /// Returns the names in this directory without `.` and `..`, in no particular order.
    ///
    /// - Throws: `Errno` of openat(2) or getdents64(2).
    public func entries() throws(Errno) -> [Entry] {
        var entries: [Entry] = []
        try forEachEntry { name, isDirectory in entries.append(Entry(name: Array(name), isDirectory: isDirectory)) }
        return entries
    }

    /// Creates the missing directories of an absolute path, with mode 0777 less the umask.
    ///
    /// Follows symbolic links: the path comes from the user's configuration.
    ///
    /// - Throws: `Errno` of mkdir(2); an existing directory is no error.
    public static func create(_ path: String) throws(Errno) {
        let bytes = Array(path.utf8)
        var end = bytes.startIndex
        while end < bytes.endIndex {
            end = bytes[end...].dropFirst().firstIndex(of: UInt8(ascii: "/")) ?? bytes.endIndex
            try makeDirectory(Array(bytes[..<end]), in: AT_FDCWD, mode: 0o777)
        }
    }

    /// Opens a directory below this one, and creates the missing parts of its path.
    ///
    /// Each part is created in the open directory before it and opened from there. A symbolic link at a part is an
    /// error and never followed.
    ///
    /// - Parameters:
    ///   - path: relative path, as bytes.
    ///   - mode: permission bits of created directories, less the umask.
    ///   - isTrusted: called for each directory of the path, existing or new.
    /// - Throws: `Errno`; `.tooManySymbolicLinkLevels` or `.notDirectory` if a part of the path is no directory,
    ///   `.notPermitted` if a directory is not trusted.
    @discardableResult
    public func createDirectories(
        _ path: [UInt8], mode: UInt32 = 0o777, isTrusted: (FileStatus) -> Bool = { _ in true }
    ) throws(Errno) -> Directory {
        var directory = self
        for part in path.split(separator: UInt8(ascii: "/")) {
            let name = Array(part)
            try Self.makeDirectory(name, in: directory.rawValue, mode: mode)
            let next = Directory(owning: try directory.open(name, flags: O_PATH | O_DIRECTORY))
            guard isTrusted(try FileStatus(of: next.rawValue)) else { throw .notPermitted }
            directory = next
        }
        return try directory.directory([])
    }

    private static func makeDirectory(_ path: [UInt8], in parent: Int32, mode: UInt32) throws(Errno) {
        do {
            try withCString(path) { name throws(Errno) in
                try retryingOnInterrupt { mkdirat(parent, name, mode) }
            }
        } catch Errno.fileExists {}
    }

    /// Renames within this directory, replacing an existing file of the new name (man 2 rename).
    ///
    /// - Throws: `Errno` of renameat(2).
    public func rename(_ old: [UInt8], to new: [UInt8]) throws(Errno) {
        try rename(old, to: new, in: self, flags: 0)
    }

    /// Moves a name from this directory to another directory on the same file system, without replacing an existing
    /// file.
    ///
    /// - Throws: `Errno`; `.fileExists` if the new name exists.
    public func moveWithoutReplacing(_ old: [UInt8], to new: [UInt8], in other: Directory) throws(Errno) {
        do {
            try rename(old, to: new, in: other, flags: UInt32(outbox_rename_noreplace))
        } catch Errno.invalidArgument {
            // The file system does not support RENAME_NOREPLACE. Assume that no other program creates the new name
            // between the check and the rename.
            if (try? other.status(new)) != nil { throw .fileExists }
            try rename(old, to: new, in: other, flags: 0)
        }
    }

    /// Moves a name from this directory to another directory on the same file system, replacing an existing file of
    /// the new name.
    ///
    /// - Throws: `Errno` of renameat(2).
    public func move(_ old: [UInt8], to new: [UInt8], in other: Directory) throws(Errno) {
        try rename(old, to: new, in: other, flags: 0)
    }

    private func rename(_ old: [UInt8], to new: [UInt8], in other: Directory, flags: UInt32) throws(Errno) {
        try withPath(old) { oldBase, oldName throws(Errno) in
            try other.withPath(new) { newBase, newName throws(Errno) in
                try retryingOnInterrupt { outbox_renameat2(oldBase, oldName, newBase, newName, flags) }
            }
        }
    }

    /// Removes a name below this directory (man 2 unlinkat).
    ///
    /// - Throws: `Errno` of unlinkat(2).
    public func unlink(_ path: [UInt8]) throws(Errno) {
        try withPath(path) { base, name throws(Errno) in
            try retryingOnInterrupt { unlinkat(base, name, 0) }
        }
    }

    /// Removes an empty directory below this one (man 2 unlinkat, AT_REMOVEDIR).
    ///
    /// - Throws: `Errno` of unlinkat(2); `.directoryNotEmpty` if the directory is not empty.
    public func removeDirectory(_ path: [UInt8]) throws(Errno) {
        try withPath(path) { base, name throws(Errno) in
            try retryingOnInterrupt { unlinkat(base, name, AT_REMOVEDIR) }
        }
    }

    /// Maximum length of a path in one system call, in bytes without the terminator (man 3 limits.h, `PATH_MAX`).
    private static let longestPath = Int(PATH_MAX) - 1

    /// Calls `body` with an open directory, and with a path below it that a system call accepts. A longer path is opened
    /// in parts.
    @discardableResult
    private func withPath<Result>(
        _ path: [UInt8], _ body: (_ base: Int32, _ path: UnsafePointer<CChar>) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        if path.count <= Self.longestPath {
            return try Self.withCString(path) { name throws(Errno) in try body(rawValue, name) }
        }
        guard let end = path[...Self.longestPath].lastIndex(of: UInt8(ascii: "/")), end > 0 else {
            throw .fileNameTooLong
        }
        let base = Directory(owning: try open(Array(path[..<end]), flags: O_PATH | O_DIRECTORY))
        return try base.withPath(Array(path[(end + 1)...]), body)
    }

    @discardableResult
    private static func withCString<Result>(
        _ bytes: [UInt8], _ body: (UnsafePointer<CChar>) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        // A NUL inside a name would silently truncate the name.
        if bytes.contains(0) { throw .invalidArgument }
        let characters = bytes.map { CChar(bitPattern: $0) } + [0]
        return try characters.withUnsafeBufferPointer { buffer throws(Errno) in
            guard let base = buffer.baseAddress else { throw Errno.invalidArgument }
            return try body(base)
        }
    }
}

/// Distinguishes a directory from others, including a later one with the same path or inode number.
public struct DirectoryIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    /// A file system may reuse an inode number soon after the directory's removal.
    private let born: Int64

    /// Creates the identity of the directory with this status.
    public init(_ status: FileStatus) {
        device = status.device
        inode = status.inode
        born = status.born
    }
}

extension Directory {
    /// Replaces or creates a file; on return the new content is durable. A reader sees either the whole old content
    /// or the whole new content.
    ///
    /// Writes to `.NAME.new`, which a kill may leave behind. The next call removes such a leftover.
    ///
    /// - Parameter mode: permission bits of the file.
    /// - Throws: `Errno` of the failed call; the old file stays in place.
    public func replace(_ name: String, with bytes: [UInt8], mode: UInt32) throws(Errno) {
        let temporary = Array(".\(name).new".utf8)
        do throws(Errno) { try unlink(temporary) } catch { if error != .noSuchFileOrDirectory { throw error } }
        let file = try open(temporary, flags: O_WRONLY | O_CREAT | O_EXCL, mode: mode)
        do throws(Errno) {
            try writeAll(bytes, to: file.rawValue)
            try retryingOnInterrupt { fsync(file.rawValue) }
            try rename(temporary, to: Array(name.utf8))
        } catch {
            try? unlink(temporary)
            throw error
        }
        try retryingOnInterrupt { fsync(rawValue) }
    }
}

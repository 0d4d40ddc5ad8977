import Glibc
import LinuxSystem
import SystemPackage

/// The file operations of the portrait. Each takes effect completely or not at all, as seen by a reader.
///
/// Calls `step` with a description before each system call that changes the disk. A test can throw there to simulate a
/// kill.
struct PortraitDisk: Sendable {
    /// Called with the name of the next step.
    var step: @Sendable (String) throws(Errno) -> Void = { _ in }

    /// Prefix of the names of unfinished files.
    static let unfinished = ".new-"

    /// Creates a directory and its missing parents.
    func makeDirectory(_ path: String) throws(Errno) {
        if (try? FileStatus(path: path))?.kind == .directory { return }
        try step("make \(path)")
        try Directory.create(path)
        if let slash = path.lastIndex(of: "/") { try sync(try Directory(path: String(path[..<slash]) + "/")) }
    }

    /// Replaces or creates a file atomically. Durable on return.
    func replace(_ name: String, with bytes: [UInt8], in directory: Directory) throws(Errno) {
        let temporary = Self.unfinished + name
        try unlink(temporary, in: directory)
        try step("create \(temporary)")
        let file = try directory.open(Array(temporary.utf8), flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        try step("write \(temporary)")
        try writeAll(bytes, to: file.rawValue)
        try step("sync \(temporary)")
        try retryingOnInterrupt { fsync(file.rawValue) }
        try step("rename \(temporary)")
        try directory.rename(Array(temporary.utf8), to: Array(name.utf8))
        try sync(directory)
    }

    /// Replaces a name by a symbolic link to `target`, atomically.
    func link(_ name: String, to target: String, in directory: Directory) throws(Errno) {
        if Self.target(of: name, in: directory) == target { return }
        let temporary = Self.unfinished + name
        try unlink(temporary, in: directory)
        try step("link \(temporary)")
        try retryingOnInterrupt { symlinkat(target, directory.rawValue, temporary) }
        try step("rename \(temporary)")
        try directory.rename(Array(temporary.utf8), to: Array(name.utf8))
    }

    /// Returns the target of a symbolic link; nil if the name is not a symbolic link.
    static func target(of name: String, in directory: Directory) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { space in
            space.baseAddress.map { readlinkat(directory.rawValue, name, $0, space.count) } ?? -1
        }
        return count < 0 ? nil : String(validating: buffer.prefix(count), as: UTF8.self)
    }

    /// Removes a name. A missing name is no error.
    func unlink(_ name: String, in directory: Directory) throws(Errno) {
        guard (try? directory.status(Array(name.utf8))) != nil else { return }
        try step("unlink \(name)")
        do throws(Errno) {
            try directory.unlink(Array(name.utf8))
        } catch {
            if error != .noSuchFileOrDirectory { throw error }
        }
    }

    /// Removes a directory and the files in it.
    func removeDirectory(_ name: String, in directory: Directory) throws(Errno) {
        let inner = try directory.directory(Array(name.utf8))
        for entry in try inner.entries() {
            try unlink(String(decoding: entry.name, as: UTF8.self), in: inner)
        }
        try step("remove \(name)")
        try directory.removeDirectory(Array(name.utf8))
    }

    /// Makes the names in a directory durable.
    func sync(_ directory: Directory) throws(Errno) {
        try step("sync directory")
        try retryingOnInterrupt { fsync(directory.rawValue) }
    }

    /// Reads a whole file of at most 1 MiB; nil if the file is missing.
    static func read(_ name: String, in directory: Directory) throws(Errno) -> [UInt8]? {
        do throws(Errno) {
            let file = SharedDescriptor(try directory.open(Array(name.utf8), flags: O_RDONLY | O_NOFOLLOW))
            var bytes = [UInt8](repeating: 0, count: 1 << 20)
            let count = try bytes.withUnsafeMutableBufferPointer { buffer throws(Errno) in
                try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
            }
            bytes.removeLast(bytes.count - count)
            return bytes
        } catch {
            if error == .noSuchFileOrDirectory { return nil }
            throw error
        }
    }
}

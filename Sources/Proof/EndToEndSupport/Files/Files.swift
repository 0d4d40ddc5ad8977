import Foundation
import Glibc

/// File operations by system call. Foundation normalises some names and hides some intermediate steps.
package enum Files {
    /// Creates or overwrites a file in place, never through a temporary file.
    package static func write(_ bytes: [UInt8], to path: String) throws {
        try write(bytes, to: Array(path.utf8))
    }

    /// Creates or overwrites a file in place; the path need not be UTF-8.
    package static func write(_ bytes: [UInt8], to path: [UInt8]) throws {
        let name = path.map { CChar(bitPattern: $0) } + [0]
        let descriptor = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw Surprise("cannot create \(String(decoding: path, as: UTF8.self)): \(errno)")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: bytes)
        try file.close()
    }

    /// Returns the file's bytes, or nil if the file cannot be opened. The path need not be UTF-8.
    package static func read(_ path: [UInt8]) -> [UInt8]? {
        let descriptor = open(path.map { CChar(bitPattern: $0) } + [0], O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        return (try? file.readToEnd()).flatMap { $0.map(Array.init) }
    }

    /// Overwrites bytes in place without changing the length.
    package static func patch(_ path: String, at offset: UInt64, with bytes: [UInt8]) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: offset)
        try file.write(contentsOf: bytes)
        try file.close()
    }

    /// Writes to a file until the disk is full.
    package static func fillDisk(_ path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Surprise("cannot create \(path): \(errno)") }
        defer { close(descriptor) }
        for size in [65_536, 4096, 1] {
            let piece = [UInt8](repeating: 7, count: size)
            while Glibc.write(descriptor, piece, size) > 0 {}
        }
    }

    package static func rename(_ old: String, to new: String) throws {
        guard Glibc.rename(old, new) == 0 else { throw Surprise("cannot rename \(old) to \(new): \(errno)") }
    }

    package static func makeDirectory(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// Returns all names below `path`, relative to `path`.
    package static func tree(_ path: String) -> [String] {
        FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
    }

    /// Returns the regular files below `path`, relative to `path`.
    package static func regularFiles(_ path: String) -> [String] {
        tree(path).filter { name in
            var status = stat()
            return lstat("\(path)/\(name)", &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        }
    }

    /// Returns all names below a directory, relative to the directory, as bytes: names need not be UTF-8.
    package static func names(below directory: [UInt8]) -> [[UInt8]] {
        guard let stream = opendir((directory + [0]).map { CChar(bitPattern: $0) }) else { return [] }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name == Array(".".utf8) || name == Array("..".utf8) { continue }
            names.append(name)
            guard entry.pointee.d_type == UInt8(DT_DIR) else { continue }
            let slash = [UInt8(ascii: "/")]
            names += Self.names(below: directory + slash + name).map { name + slash + $0 }
        }
        return names
    }
}

import Foundation
import Glibc

/// Files by system call, for names and moments that Foundation smooths over.
package enum Files {
    /// Creates or overwrites in place, never through a temporary file, and closes.
    package static func write(_ bytes: [UInt8], to path: String) throws {
        try write(bytes, to: Array(path.utf8))
    }

    /// The same for a path that need not be UTF-8.
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

    /// What the file holds; nil where it cannot be opened. The path need not be UTF-8.
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

    package static func rename(_ old: String, to new: String) throws {
        guard Glibc.rename(old, new) == 0 else { throw Surprise("cannot rename \(old) to \(new): \(errno)") }
    }

    package static func makeDirectory(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// Every name below `path`, relative to it.
    package static func tree(_ path: String) -> [String] {
        FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
    }

    /// The regular files below `path`, relative to it.
    package static func regularFiles(_ path: String) -> [String] {
        tree(path).filter { name in
            var status = stat()
            return lstat("\(path)/\(name)", &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        }
    }

    /// The names of everything below a directory, relative to it, as bytes: names need not be UTF-8.
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

import Glibc

/// Reads small files of the kernel or an administrator, ignoring errors.
package enum ProcFile {
    /// Maximum number of bytes read from one file.
    private static let longest = 1 << 20

    /// Returns the text of a file; nil if unreadable. Files in /proc don't report their size, so they are read to the
    /// end.
    package static func text(_ path: String) -> String? {
        guard let file = try? SharedDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK) else { return nil }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count < longest {
            let count = chunk.withUnsafeMutableBytes { buffer in
                (try? file.read(into: buffer, at: UInt64(bytes.count))) ?? 0
            }
            bytes += chunk.prefix(count)
            if count < chunk.count { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the names in a directory; empty if unreadable.
    package static func names(in path: String) -> [String] {
        guard let entries = try? Directory(path: path).entries() else { return [] }
        return entries.map { String(decoding: $0.name, as: UTF8.self) }
    }

    /// Returns the target of a symbolic link; nil if there is none.
    package static func link(_ path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    package static func exists(_ path: String) -> Bool { (try? FileStatus(path: path)) != nil }
}

/// Returns the path of the running program, as bytes (man 5 proc, /proc/pid/exe); nil if /proc is not mounted.
public func runningProgram() -> [UInt8]? {
    var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = path.withUnsafeMutableBytes { buffer in
        buffer.withMemoryRebound(to: CChar.self) { buffer in
            buffer.baseAddress.map { readlink("/proc/self/exe", $0, buffer.count) } ?? 0
        }
    }
    return count > 0 ? Array(path.prefix(count)) : nil
}

internal import Foundation
internal import Glibc

/// A new directory with mode 0700. Deinit removes the directory with all its contents.
public final class TemporaryDirectory: Sendable {
    /// The absolute path, without a trailing slash and with symlinks resolved.
    public let path: String
    private let isKept: Bool

    /// Makes a directory.
    ///
    /// - Parameters:
    ///   - prefix: The start of its name; keep it short, because Unix socket paths end at 107 bytes.
    ///   - parent: The parent directory; the caller then removes the new directory. Nil: `$TMPDIR` or `/tmp`, and
    ///     deinit removes it.
    /// - Throws: `CocoaError` or `POSIXError` if the directory cannot be created.
    public init(prefix: String = "outbox-test", in parent: String? = nil) throws {
        isKept = parent != nil
        let parent = parent ?? ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        var template = Array("\(parent)/\(prefix)-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { buffer -> String? in
            guard let start = buffer.baseAddress, mkdtemp(start) != nil, let real = realpath(start, nil) else {
                return nil
            }
            defer { free(real) }
            return String(cString: real)
        }
        guard let made else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        path = made
    }

    deinit { if !isKept { close() } }

    /// Returns the absolute path of a name in the directory.
    public func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file.
    ///
    /// - Returns: Its absolute path.
    /// - Throws: `CocoaError` if the file cannot be written.
    public func file(_ name: String, _ content: String) throws -> String {
        try Data(content.utf8).write(to: URL(fileURLWithPath: path(name)))
        return path(name)
    }

    /// Returns the content of a file; empty if the file cannot be read.
    public func text(_ name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path(name)) ?? Data(), as: UTF8.self)
    }

    /// Removes the directory now, including directories without write permission. Idempotent.
    public func close() {
        let manager = FileManager.default
        if (try? manager.removeItem(atPath: path)) != nil { return }
        if let walk = manager.enumerator(atPath: path) {
            for case let name as String in walk { chmod("\(path)/\(name)", 0o700) }
        }
        try? manager.removeItem(atPath: path)
    }
}

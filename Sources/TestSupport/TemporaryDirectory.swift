internal import Foundation
internal import Glibc

/// A fresh directory of mode 0700 that is removed with everything in it when the value goes away.
public final class TemporaryDirectory: Sendable {
    /// The absolute path, without a trailing slash and with symlinks resolved.
    public let path: String
    private let isKept: Bool

    /// Makes a directory.
    ///
    /// - Parameters:
    ///   - prefix: the start of its name, short because Unix socket paths end at 107 bytes.
    ///   - parent: where to make it; it then stays until the caller removes it. Nil: under `$TMPDIR`, or `/tmp`.
    /// - Throws: `CocoaError` or `POSIXError` when it cannot be made.
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

    /// The absolute path of something in the directory.
    public func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Removes the directory now, directories without write permission included. Calling it again does nothing.
    public func close() {
        let manager = FileManager.default
        if (try? manager.removeItem(atPath: path)) != nil { return }
        if let walk = manager.enumerator(atPath: path) {
            for case let name as String in walk { chmod("\(path)/\(name)", 0o700) }
        }
        try? manager.removeItem(atPath: path)
    }
}

public import LinuxSystem
public import SystemPackage
public import Transport

/// A body consisting of a whole file, which must not change while it is sent.
public final class FileBody: BodySource, @unchecked Sendable {
    // Unchecked: only one thread at a time calls a body source, and no other code uses `offset`.
    private var offset: UInt64 = 0
    private let file: SharedDescriptor
    /// Number of bytes in the file.
    public let length: UInt64

    /// Creates a body from a file's bytes.
    ///
    /// - Parameter file: open for reading; the body ignores the file's own offset.
    /// - Throws: `Errno` if the file's length cannot be read.
    public init(_ file: SharedDescriptor) throws(Errno) {
        self.file = file
        length = try FileStatus(of: file.rawValue).size
    }

    /// Reads the next bytes; see `BodySource`.
    ///
    /// - Throws: `Errno` of the read, or `BodyTooShort` if the file has shrunk.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let wanted = Int(min(UInt64(buffer.count), length - offset))
        let count = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
        if count < wanted { throw BodyTooShort(promised: length, delivered: offset + UInt64(count)) }
        offset += UInt64(count)
        return count
    }

    /// Returns to the first byte.
    public func rewind() { offset = 0 }
}

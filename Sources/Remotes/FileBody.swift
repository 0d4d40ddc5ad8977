public import LinuxSystem
public import SystemPackage
public import Transport

/// A body that is a whole file, which nobody changes while it is sent.
public final class FileBody: BodySource, @unchecked Sendable {
    // Unchecked: a body source is called by one thread at a time, and `offset` is touched by nobody else.
    private var offset: UInt64 = 0
    private let file: SharedDescriptor
    /// Number of bytes in the file.
    public let length: UInt64

    /// A file's bytes.
    ///
    /// - Parameter file: open for reading; its own offset is not used.
    /// - Throws: `Errno` where its length can't be told.
    public init(_ file: SharedDescriptor) throws(Errno) {
        self.file = file
        length = try FileStatus(of: file.rawValue).size
    }

    /// Reads on; see `BodySource`.
    ///
    /// - Throws: `Errno` of the read, or `BodyTooShort` where the file has shrunk.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let wanted = Int(min(UInt64(buffer.count), length - offset))
        let count = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
        if count < wanted { throw BodyTooShort(promised: length, delivered: offset + UInt64(count)) }
        offset += UInt64(count)
        return count
    }

    /// Goes back to the first byte.
    public func rewind() { offset = 0 }
}

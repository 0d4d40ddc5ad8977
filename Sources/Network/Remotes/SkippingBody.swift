public import LinuxSystem
public import SystemPackage
public import Transport

/// The rest of a body whose first bytes the server already has. Reads the whole body, so that a check of the whole covers
/// the skipped bytes too.
public final class SkippingBody: BodySource, @unchecked Sendable {
    // Unchecked: only one thread at a time calls a body source, and no other code uses `hasSkipped`.
    private var hasSkipped = false
    private let whole: any BodySource
    private let skip: UInt64
    /// Number of bytes after the skipped ones.
    public let length: UInt64

    /// Creates the rest of a body.
    ///
    /// - Parameter skip: number of bytes to leave out; all if the body is shorter.
    public init(_ whole: any BodySource, skip: UInt64) {
        self.whole = whole
        self.skip = min(skip, whole.length)
        length = whole.length - self.skip
    }

    /// Reads the next bytes; see `BodySource`.
    ///
    /// - Throws: the whole body's error, also for its skipped bytes.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if buffer.isEmpty { return 0 }
        if !hasSkipped {
            try readSkipped(using: buffer)
            hasSkipped = true
        }
        return try whole.read(into: buffer)
    }

    private func readSkipped(using buffer: UnsafeMutableRawBufferPointer) throws {
        var left = skip
        while left > 0 {
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: left)))
            let count = try whole.read(into: part)
            if count == 0 { throw BodyTooShort(promised: whole.length, delivered: skip - left) }
            left -= UInt64(count)
        }
    }

    /// Returns to the first byte after the skipped ones.
    public func rewind() throws {
        try whole.rewind()
        hasSkipped = false
    }
}

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

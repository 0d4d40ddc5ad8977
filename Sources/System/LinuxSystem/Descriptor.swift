import CLinux
import Glibc
public import SystemPackage

/// A file descriptor with exactly one owner: closed when the value goes out of scope.
public struct Descriptor: ~Copyable, Sendable {
    /// The descriptor's number, valid for as long as this value lives.
    public let rawValue: Int32

    /// Takes ownership of an open descriptor.
    public init(owning rawValue: Int32) {
        self.rawValue = rawValue
    }

    deinit {
        // man 2 close: the kernel releases the descriptor even if close reports EINTR, so close is never retried.
        _ = Glibc.close(rawValue)
    }

    /// Transfers ownership: the caller must close the returned descriptor.
    public consuming func release() -> Int32 {
        let value = rawValue
        discard self
        return value
    }
}

/// Opens `/dev/null` as standard input, output and error where they are closed. Otherwise the next files to be opened would
/// take their numbers and receive log lines.
///
/// Must be called before anything else opens a file.
public func openMissingStandardDescriptors() {
    // man 2 open: the lowest free number.
    var number: Int32
    repeat { number = Glibc.open("/dev/null", O_RDWR) } while (0...2).contains(number)
    if number > 2 { _ = Glibc.close(number) }
}

/// A file descriptor shared by several owners: closed when the last owner releases it.
public final class SharedDescriptor: Sendable {
    /// Closes a descriptor, possibly later and on another thread.
    public typealias Closer = @Sendable (Int32) -> Void

    /// The descriptor's number, valid for as long as this object is referenced.
    public let rawValue: Int32
    private let closer: Closer?

    /// Shares an owned descriptor.
    ///
    /// - Parameter closer: closes the descriptor if its file system may not answer: close(2) can block too.
    public init(_ descriptor: consuming Descriptor, closer: Closer? = nil) {
        rawValue = descriptor.release()
        self.closer = closer
    }

    deinit {
        if let closer {
            closer(rawValue)
        } else {
            // See `Descriptor`.
            _ = Glibc.close(rawValue)
        }
    }

    /// Opens a path, close-on-exec (man 2 open).
    ///
    /// - Parameters:
    ///   - path: absolute, or relative to the current directory.
    ///   - flags: flags of open(2).
    ///   - mode: permission bits if `flags` has `O_CREAT`.
    /// - Throws: `Errno` of open(2).
    public convenience init(opening path: String, flags: Int32, mode: UInt32 = 0) throws(Errno) {
        let raw = try retryingOnInterrupt { outbox_openat(AT_FDCWD, path, flags | O_CLOEXEC, mode) }
        self.init(Descriptor(owning: raw))
    }

    /// Reads at an offset without moving any file position (man 2 pread), until the buffer is full or the file ends.
    ///
    /// - Returns: the number of bytes read; less than the buffer's size only at the end of the file.
    /// - Throws: `Errno` of the failed read.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Errno) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = try retryingOnInterrupt {
                Glibc.pread(rawValue, rest.baseAddress, rest.count, off_t(offset) + off_t(filled))
            }
            if count == 0 { break }
            filled += count
        }
        return filled
    }
}

/// Writes all bytes, with as many calls as needed (man 2 write).
///
/// - Throws: `Errno` of the failed write; bytes of earlier calls stay written.
public func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws(Errno) {
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = try retryingOnInterrupt {
            rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        }
        rest = rest.dropFirst(count)
    }
}

/// Reads to the end (man 2 read); works on pipes and terminals, too.
///
/// - Parameters:
///   - descriptor: open for reading.
///   - limit: the maximum number of bytes to read; further bytes stay unread.
/// - Throws: `Errno` of the failed read.
public func readAll(from descriptor: Int32, atMost limit: Int = .max) throws(Errno) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: min(limit, 64 << 10))
    while bytes.count < limit {
        let wanted = min(buffer.count, limit - bytes.count)
        let count = try retryingOnInterrupt { Glibc.read(descriptor, &buffer, wanted) }
        if count == 0 { break }
        bytes += buffer[..<count]
    }
    return bytes
}

/// Repeats a system call while a signal interrupts it. The only such loop in the agent's code.
///
/// - Returns: the call's result, never negative.
/// - Throws: `Errno` if the call returns -1 for any other reason.
@discardableResult
public func retryingOnInterrupt<Result: FixedWidthInteger & SignedInteger>(
    _ call: () -> Result
) throws(Errno) -> Result {
    while true {
        let result = call()
        if result >= 0 { return result }
        let code = Errno(rawValue: errno)
        if code != .interrupted { throw code }
    }
}

/// The bytes of one request body, streamed.
///
/// A source belongs to one request. Only the transport's thread calls its methods, one at a time. They may block as
/// long as a read of a local file; every other transfer waits meanwhile.
public protocol BodySource: Sendable {
    /// Total number of bytes; must not change while the request runs.
    var length: UInt64 { get }

    /// Copies the next bytes into `buffer`.
    ///
    /// - Returns: the number of bytes copied, at most `buffer.count`; 0 only at the end.
    /// - Throws: any error that makes the body unusable. The transport then closes the connection before the request
    ///   is complete, and `send` fails with ``TransportError/body(_:)``.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int

    /// Returns to the first byte. libcurl sends the whole request again if a re-used connection turns out to be dead.
    ///
    /// - Throws: an error if the bytes cannot be read again; `send` fails with ``TransportError/body(_:)``.
    func rewind() throws
}

/// A body that ended before its promised length.
public struct BodyTooShort: Error, Equatable, CustomStringConvertible {
    /// Bytes promised by ``BodySource/length``.
    public let promised: UInt64
    /// Bytes delivered before the end.
    public let delivered: UInt64

    /// Creates the error; sources that detect the short body themselves may throw it, too.
    public init(promised: UInt64, delivered: UInt64) {
        self.promised = promised
        self.delivered = delivered
    }

    /// The number of bytes delivered and promised.
    public var description: String { "the body ended after \(delivered) of \(promised) bytes" }
}

/// A body in memory.
///
/// `@unchecked`: passed to the transport's thread with its request, and used by no other thread afterwards.
package final class BytesBody: BodySource, @unchecked Sendable {
    private let bytes: [UInt8]
    private var position = 0

    /// The number of bytes.
    package var length: UInt64 { UInt64(bytes.count) }

    /// Creates a body of these bytes.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Copies the next bytes; see `BodySource`.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, bytes.count - position)
        bytes.withUnsafeBytes { all in
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[position..<position + count]))
        }
        position += count
        return count
    }

    /// Returns to the first byte.
    package func rewind() {
        position = 0
    }
}

/// The bytes of one request's body, streamed.
///
/// A source belongs to one request. Its methods are called on the transport's own thread only, never two at a time;
/// they may block as reading a local file does, and hold up every other transfer while they do.
public protocol BodySource: Sendable {
    /// Number of bytes from start to end; it must not change while the request runs.
    var length: UInt64 { get }

    /// Copies the next bytes into `buffer`.
    ///
    /// - Returns: how many bytes were copied, at most `buffer.count`; 0 only at the end.
    /// - Throws: anything that makes the body unusable. The connection is cut before the request is complete, and
    ///   `send` fails with ``TransportError/body(_:)``.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int

    /// Goes back to the first byte: a connection that turned out dead when it was used again makes libcurl send the
    /// whole request once more.
    ///
    /// - Throws: when the bytes cannot be had a second time; `send` fails with ``TransportError/body(_:)``.
    func rewind() throws
}

/// A body that ended before its promised length.
public struct BodyTooShort: Error, Equatable, CustomStringConvertible {
    /// Bytes promised by ``BodySource/length``.
    public let promised: UInt64
    /// Bytes that came.
    public let delivered: UInt64

    /// For sources that notice themselves, too.
    public init(promised: UInt64, delivered: UInt64) {
        self.promised = promised
        self.delivered = delivered
    }

    /// Says how much is missing.
    public var description: String { "the body ended after \(delivered) of \(promised) bytes" }
}

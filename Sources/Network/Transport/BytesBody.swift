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

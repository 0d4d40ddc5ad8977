/// A body in memory.
///
/// `@unchecked`: passed to the transport's thread with its request, and used by no other thread afterwards.
final class BytesBody: BodySource, @unchecked Sendable {
    private let bytes: [UInt8]
    private var position = 0

    var length: UInt64 { UInt64(bytes.count) }

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, bytes.count - position)
        bytes.withUnsafeBytes { all in
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[position..<position + count]))
        }
        position += count
        return count
    }

    func rewind() {
        position = 0
    }
}

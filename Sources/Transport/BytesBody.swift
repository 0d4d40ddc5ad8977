/// A body in memory.
///
/// `@unchecked`: handed to the transport's thread with its request and touched by no other afterwards.
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

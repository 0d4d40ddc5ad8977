import Digests
import Transport

/// Hands out each block of a fragment only after the whole block was read and checked.
///
/// A `FragmentReader` alone passes on the first bytes of a block before it checks the last ones. This suits protocols whose
/// servers drop incomplete requests. A tus server keeps every byte that arrives, so changed bytes must not arrive at all.
/// Must wrap the reader itself, or a `SkippingBody` around it.
final class CheckedBody: BodySource, @unchecked Sendable {
    // Unchecked: only one thread at a time calls a body source, and no other code uses `block` and `unread`.
    private var block: [UInt8] = []
    /// The checked bytes in `block` that were not handed out.
    private var unread = 0..<0
    private let source: any BodySource

    init(_ source: any BodySource) { self.source = source }

    var length: UInt64 { source.length }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if buffer.isEmpty { return 0 }
        if unread.isEmpty { try readBlock() }
        let count = min(buffer.count, unread.count)
        block.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[unread.prefix(count)])) }
        unread = unread.dropFirst(count)
        return count
    }

    /// The reader fills a buffer of this size up to the end of the block, and then checks the block.
    private func readBlock() throws {
        if block.isEmpty { block = Array(repeating: 0, count: BlockDigester.blockSize) }
        unread = 0..<(try block.withUnsafeMutableBytes { try source.read(into: $0) })
    }

    func rewind() throws {
        unread = 0..<0
        try source.rewind()
    }
}

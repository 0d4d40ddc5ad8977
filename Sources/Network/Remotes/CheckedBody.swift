import Digests
import Transport

/// Hands out each block of a fragment only after the whole block was read and checked.
///
/// A `FragmentReader` alone passes on the first bytes of a block before it checks the last ones. This suits protocols whose
/// servers drop incomplete requests. A tus server keeps every byte that arrives, so changed bytes must not arrive at all.
/// Must wrap the reader itself, or a `SkippingBody` around it.
final class CheckedBody: BodySource, @unchecked Sendable {
    // Unchecked: only one thread at a time calls a body source, and no other code uses `block` and `unread`.
    /// Room for one block, or for the whole of a shorter body. Allocated with the first read.
    private var block: UnsafeMutableRawBufferPointer?
    /// The checked bytes in `block` that were not handed out.
    private var unread = 0..<0
    private let source: any BodySource

    init(_ source: any BodySource) { self.source = source }

    deinit { block?.deallocate() }

    var length: UInt64 { source.length }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if buffer.isEmpty { return 0 }
        let block = self.block ?? .allocate(byteCount: size, alignment: 64)
        self.block = block
        // The reader fills a buffer of this size up to the end of the block, and then checks the block.
        if unread.isEmpty { unread = 0..<(try source.read(into: block)) }
        let count = min(buffer.count, unread.count)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: block[unread.prefix(count)]))
        unread = unread.dropFirst(count)
        return count
    }

    private var size: Int { Int(min(length, UInt64(BlockDigester.blockSize))) }

    func rewind() throws {
        unread = 0..<0
        try source.rewind()
    }
}

import Crypto
public import UploadCore

/// Computes everything that is known of a content in one pass: its key (MD5, RFC 1321), the keyed digest of each block
/// of 512 KiB, and the seal over those.
public struct ContentHasher {
    private var md5 = Insecure.MD5()
    private let block: BlockDigester
    private var blockFill = 0
    private var size: UInt64 = 0
    private var digests: [UInt64] = []

    /// Starts with an empty content.
    public init(secret: DigestSecret) {
        block = BlockDigester(secret: secret)
    }

    /// Adds the next bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        md5.update(bufferPointer: bytes)
        size += UInt64(bytes.count)
        var rest = bytes
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(BlockDigester.blockSize - blockFill))
            block.update(part)
            blockFill += part.count
            if blockFill == BlockDigester.blockSize { finishBlock() }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
        }
    }

    private mutating func finishBlock() {
        digests.append(block.finish())
        blockFill = 0
    }

    /// The content's key, seal and block digests; the hasher starts over with an empty content.
    public mutating func finish() -> (content: DropContent, digests: [UInt64]) {
        if blockFill > 0 { finishBlock() }
        let digest = Array(md5.finalize())
        let key = ContentKey(digest: digest) ?? ContentKey(high: 0, low: 0)
        digests.withUnsafeBytes { block.update($0) }
        let seal = ContentSeal(size: size, digest: block.finish())
        defer {
            md5 = Insecure.MD5()
            size = 0
            digests = []
        }
        return (DropContent(key: key, seal: seal), digests)
    }
}

public import UploadCore

/// Computes everything that is known of a content in one pass: its key (MD5, RFC 1321), the keyed digest of each block
/// of 512 KiB, and the seal over those.
public struct ContentHasher {
    private var md5 = StoredMD5()
    private let block: BlockDigester
    private var blockFill = 0
    private var size: UInt64 = 0
    private var digests: [UInt64] = []

    /// Starts with an empty content.
    public init(secret: DigestSecret) {
        block = BlockDigester(secret: secret)
    }

    /// Goes on where another hasher of this machine stood.
    ///
    /// - Returns: nil where `progress` can't be the progress of one.
    public init?(secret: DigestSecret, continuing progress: HashProgress) {
        guard let state = StoredMD5(state: progress.md5) else { return nil }
        self.init(secret: secret)
        md5 = state
        digests = progress.digests
        size = progress.size
    }

    /// How far it is; nil within a block.
    public var progress: HashProgress? {
        blockFill == 0 ? HashProgress(md5: md5.state, digests: digests) : nil
    }

    /// Adds the next bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        md5.update(bytes)
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
        let digest = md5.finish()
        let key = ContentKey(digest: digest) ?? ContentKey(high: 0, low: 0)
        digests.withUnsafeBytes { block.update($0) }
        let seal = ContentSeal(size: size, digest: block.finish())
        defer {
            md5 = StoredMD5()
            size = 0
            digests = []
        }
        return (DropContent(key: key, seal: seal), digests)
    }
}

/// A hash that is not finished, at the end of a block of 512 KiB.
public struct HashProgress: Equatable, Sendable {
    /// The state of MD5, as this machine keeps it.
    public var md5: [UInt8]
    /// The keyed digests of the blocks so far.
    public var digests: [UInt64]

    /// Puts both together.
    public init(md5: [UInt8], digests: [UInt64]) {
        self.md5 = md5
        self.digests = digests
    }

    /// Bytes that were hashed.
    public var size: UInt64 { UInt64(digests.count) * UInt64(BlockDigester.blockSize) }
}

public import UploadCore

/// Computes everything that is known of a content in one pass: its key (MD5, RFC 1321), the keyed digest of each block
/// of 512 KiB, and the seal over those; on demand its SHA-256 too.
public struct ContentHasher {
    private var md5 = MD5Hasher()
    private var sha256: SHA256Hasher?
    private let block: BlockDigester
    private var blockFill = 0
    private var size: UInt64 = 0
    private var digests: [UInt64] = []

    /// Starts with an empty content.
    ///
    /// - Parameter withSHA256: whether to compute the SHA-256 as well, which takes a third longer on processors with
    ///   instructions for it, and more than twice as long on others.
    public init(secret: DigestSecret, withSHA256: Bool = false) {
        block = BlockDigester(secret: secret)
        sha256 = withSHA256 ? SHA256Hasher() : nil
    }

    /// Goes on where another hasher of this machine stood.
    ///
    /// - Returns: nil where `progress` can't be the progress of one, or of one without the SHA-256 that is wanted.
    public init?(secret: DigestSecret, withSHA256: Bool = false, continuing progress: HashProgress) {
        self.init(secret: secret, withSHA256: withSHA256)
        guard let state = MD5Hasher(state: Array(progress.state.prefix(MD5Hasher.stateSize))) else { return nil }
        md5 = state
        let rest = Array(progress.state.dropFirst(MD5Hasher.stateSize))
        if withSHA256 {
            guard let state = SHA256Hasher(state: rest) else { return nil }
            sha256 = state
        } else if !rest.isEmpty {
            return nil
        }
        digests = progress.digests
        size = progress.size
    }

    /// How far it is; nil within a block.
    public var progress: HashProgress? {
        blockFill == 0 ? HashProgress(state: md5.state + (sha256?.state ?? []), digests: digests) : nil
    }

    /// Adds the next bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        md5.update(bytes)
        sha256?.update(bytes)
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
        let strong = (sha256?.finish()).flatMap { StrongDigest($0) }
        defer {
            md5 = MD5Hasher()
            sha256 = sha256.map { _ in SHA256Hasher() }
            size = 0
            digests = []
        }
        return (DropContent(key: key, seal: seal, sha256: strong), digests)
    }
}

/// A hash that is not finished, at the end of a block of 512 KiB.
public struct HashProgress: Equatable, Sendable {
    /// The state of MD5 and, where it is wanted, of SHA-256, as this machine keeps them.
    public var state: [UInt8]
    /// The keyed digests of the blocks so far.
    public var digests: [UInt64]

    /// Puts both together.
    public init(state: [UInt8], digests: [UInt64]) {
        self.state = state
        self.digests = digests
    }

    /// Bytes that were hashed.
    public var size: UInt64 { UInt64(digests.count) * UInt64(BlockDigester.blockSize) }
}

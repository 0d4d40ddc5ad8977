public import UploadCore

/// Computes all digests of a content in one pass: its key (MD5, RFC 1321), the keyed digest of each block of 512 KiB,
/// the seal over these digests, and optionally SHA-256 and the digests of parts.
public struct ContentHasher {
    private var md5 = MD5Hasher()
    private var sha256: SHA256Hasher?
    private var parts: PartHasher?
    private let block: BlockDigester
    private var blockFill = 0
    private var size: UInt64 = 0
    private var digests: [UInt64] = []

    /// Creates a hasher for a new content.
    ///
    /// - Parameters:
    ///   - withSHA256: whether to compute SHA-256 as well. This takes a third longer on processors with SHA instructions,
    ///     and more than twice as long on others.
    ///   - parts: which digests of parts to compute as well; nil for none.
    public init(secret: DigestSecret, withSHA256: Bool = false, parts: PartDigestStore.Wish? = nil) {
        block = BlockDigester(secret: secret)
        sha256 = withSHA256 ? SHA256Hasher() : nil
        self.parts = parts.map { PartHasher($0) }
    }

    /// Continues from the progress of another hasher on this machine, without digests of parts.
    ///
    /// - Returns: nil if `progress` is invalid, or lacks or contains SHA-256 contrary to `withSHA256`.
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

    /// The progress at a block boundary; nil within a block.
    public var progress: HashProgress? {
        blockFill == 0 ? HashProgress(state: md5.state + (sha256?.state ?? []), digests: digests) : nil
    }

    /// Adds the next bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        if parts == nil { md5.update(bytes) } else { parts?.update(bytes, beside: &md5) }
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

    /// Returns the digests of the content's parts; nil if they were not computed. Must precede `finish`.
    public mutating func finishParts() -> [PartDigests]? {
        defer { parts = nil }
        return parts?.finish()
    }

    /// Returns the content's key, seal and block digests. Resets the hasher for a new content.
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

/// The state of an unfinished hash after a whole number of blocks of 512 KiB.
public struct HashProgress: Equatable, Sendable {
    /// The state of MD5 and, if computed, of SHA-256, in this machine's format.
    public var state: [UInt8]
    /// The keyed digests of the blocks hashed so far.
    public var digests: [UInt64]

    /// Creates a progress from both parts.
    public init(state: [UInt8], digests: [UInt64]) {
        self.state = state
        self.digests = digests
    }

    /// The number of bytes hashed.
    public var size: UInt64 { UInt64(digests.count) * UInt64(BlockDigester.blockSize) }
}

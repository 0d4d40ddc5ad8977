public import LinuxSystem
public import UploadCore

/// Computes all digests of a content in one pass: its key (MD5, RFC 1321), the keyed digest of each block of 512 KiB,
/// the seal over these digests, and optionally SHA-256 and the digests of parts.
public struct ContentHasher {
    private var md5: HashPass<MD5Hasher>
    private var sha256: HashPass<SHA256Hasher>
    private let wish: PartDigestStore.Wish?
    private let withSHA256: Bool
    private let helper: SerialThread?
    private var blocks: BlockDigests
    private var size: UInt64 = 0

    /// Creates a hasher for a new content.
    ///
    /// - Parameters:
    ///   - withMD5: false if the caller computes the MD5 and passes it to ``finish(md5:)``.
    ///   - withSHA256: whether to compute SHA-256 as well. On one thread, this takes two fifths longer on processors with SHA
    ///     instructions, and more than twice as long on others.
    ///   - parts: which digests of parts to compute as well; nil for none.
    ///   - helper: works beside the caller's thread, which computes the MD5; nil: the caller's thread does everything.
    public init(
        secret: DigestSecret, withMD5: Bool = true, withSHA256: Bool = false, parts: PartDigestStore.Wish? = nil,
        helper: SerialThread? = nil
    ) {
        blocks = BlockDigests(secret: secret)
        self.withSHA256 = withSHA256
        self.helper = helper
        wish = parts
        md5 = HashPass(whole: withMD5, partSize: parts?.md5 == true ? parts?.partSize : nil)
        let isOnePart = parts?.isOnePart == true
        let wantsParts = parts?.sha256 == true
        sha256 = HashPass(
            whole: withSHA256 || wantsParts && isOnePart, partSize: wantsParts && !isOnePart ? parts?.partSize : nil)
    }

    /// Adds the next bytes.
    ///
    /// - Parameter meanwhile: called once before this returns, to read the bytes that follow. If there is a helper, one of the
    ///   two threads may still hash `bytes` then.
    public mutating func update(_ bytes: UnsafeRawBufferPointer, meanwhile: @Sendable () -> Void = {}) {
        size += UInt64(bytes.count)
        guard let helper else {
            sha256.update(bytes)
            md5.update(bytes)
            blocks.update(bytes)
            return meanwhile()
        }
        // Only read, and valid until `run` returns.
        nonisolated(unsafe) let shared = bytes
        // SHA-256 may take longer than MD5, so it gets the helper for itself. Without it, MD5 takes the longest.
        if sha256.isIdle {
            let side = Handover(blocks)
            blocks.digests = []
            helper.run(
                {
                    side.value.update(shared)
                    meanwhile()
                }, beside: { md5.update(bytes) })
            blocks = side.value
        } else {
            let side = Handover(sha256)
            sha256 = HashPass(whole: false, partSize: nil)
            helper.run(
                { side.value.update(shared) },
                beside: {
                    md5.update(bytes)
                    blocks.update(bytes)
                    meanwhile()
                })
            sha256 = side.value
        }
    }

    /// Returns the content's key, seal, block digests, and the digests of its parts; nil without `parts`. The hasher must not be
    /// used afterwards.
    ///
    /// - Parameter other: the content's MD5 if the hasher does not compute it.
    public mutating func finish(
        md5 other: [UInt8]? = nil
    ) -> (content: DropContent, digests: [UInt64], parts: [PartDigests]?) {
        let (digests, sealed) = blocks.finish()
        let digest = md5.whole?.finish() ?? other ?? []
        let key = ContentKey(digest: digest) ?? ContentKey(high: 0, low: 0)
        let seal = ContentSeal(size: size, digest: sealed)
        let strong = sha256.whole?.finish()
        let content = DropContent(
            key: key, seal: seal, sha256: withSHA256 ? strong.flatMap { StrongDigest($0) } : nil)
        return (content, digests, wish.map { parts($0, strong) })
    }

    private mutating func parts(_ wish: PartDigestStore.Wish, _ strong: [UInt8]?) -> [PartDigests] {
        let md5s = md5.finishParts()
        let sha256s = wish.sha256 && wish.isOnePart ? strong.map { [$0] } : sha256.finishParts()
        return (0..<max(md5s?.count ?? 0, sha256s?.count ?? 0)).map {
            PartDigests(md5: md5s?[$0], sha256: sha256s?[$0])
        }
    }
}

/// The digests of the blocks of a content.
private struct BlockDigests {
    /// The digests of the blocks that ended.
    var digests: [UInt64] = []
    private let digester: BlockDigester
    /// The number of bytes in the present block.
    private var fill = 0

    init(secret: DigestSecret) { digester = BlockDigester(secret: secret) }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(BlockDigester.blockSize - fill))
            digester.update(part)
            fill += part.count
            if fill == BlockDigester.blockSize { finishBlock() }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
        }
    }

    private mutating func finishBlock() {
        digests.append(digester.finish())
        fill = 0
    }

    /// Returns all digests, and the seal over them.
    mutating func finish() -> (digests: [UInt64], seal: UInt64) {
        if fill > 0 { finishBlock() }
        return (digests, digester.seal(of: digests))
    }
}

/// A value that one thread hands to another one and takes back.
private final class Handover<Value>: @unchecked Sendable {
    // Unchecked: `SerialThread.run(_:beside:)` orders the accesses.
    var value: Value
    init(_ value: Value) { self.value = value }
}

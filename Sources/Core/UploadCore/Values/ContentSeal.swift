/// Size and digest of a content. Besides the key, both must match before a path joins another's upload or relies on an
/// old confirmation.
///
/// MD5 alone is forgeable. The digest covers the keyed digests of all blocks. Its secret never leaves the machine, so
/// nobody can prepare two files with the same seal.
public struct ContentSeal: Hashable, Sendable {
    /// The number of bytes in a block with a digest of its own. Fragments of every protocol are whole blocks, except for
    /// the last.
    public static let blockSize: UInt32 = 512 << 10

    /// The size of the content in bytes.
    public var size: UInt64
    /// Keyed XXH3 over the list of keyed block digests.
    public var digest: UInt64

    /// Whether the content has at most one block. The seal then says as much about the bytes as the block's digest, so no
    /// digest is stored.
    public var isOfOneBlock: Bool { size <= UInt64(Self.blockSize) }

    /// Creates a seal.
    public init(size: UInt64, digest: UInt64) {
        self.size = size
        self.digest = digest
    }
}

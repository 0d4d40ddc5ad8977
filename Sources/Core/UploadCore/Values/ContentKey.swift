/// The key of a content: the MD5 of its bytes (RFC 1321), written as 32 lower-case hexadecimal digits.
public struct ContentKey: Hashable, Sendable {
    /// The first eight bytes of the digest, big-endian.
    public let high: UInt64
    /// The last eight bytes of the digest, big-endian.
    public let low: UInt64

    /// Creates a key from its two halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates a key from the 16 bytes of a digest.
    ///
    /// - Returns: nil for any other number of bytes.
    @inlinable public init?(digest: some Collection<UInt8>) {
        guard digest.count == 16 else { return nil }
        var halves: (high: UInt64, low: UInt64) = (0, 0)
        for byte in digest { halves = (halves.high << 8 | halves.low >> 56, halves.low << 8 | UInt64(byte)) }
        self.init(high: halves.high, low: halves.low)
    }

    /// Parses 32 hexadecimal digits of either case.
    ///
    /// - Returns: nil for anything else.
    public init?(hexadecimal text: some StringProtocol) {
        let digits = Array(text.utf8)
        guard digits.count == 32 else { return nil }
        var halves: [UInt64] = [0, 0]
        for (index, digit) in digits.enumerated() {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = digit - UInt8(ascii: "A") + 10
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            default: return nil
            }
            halves[index / 16] = halves[index / 16] << 4 | UInt64(value)
        }
        self.init(high: halves[0], low: halves[1])
    }

    /// The 16 bytes of the digest.
    public var bytes: [UInt8] { withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) } }
}

extension ContentKey: CustomStringConvertible {
    /// The key as 32 lower-case hexadecimal digits.
    public var description: String { bytes.hexadecimal }
}

extension ContentKey: Comparable {
    /// Compares the digests byte by byte.
    public static func < (left: ContentKey, right: ContentKey) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

/// The SHA-256 of a content (FIPS 180-4). Servers compare it before they report a content as existing, since MD5 can be
/// forged.
public struct StrongDigest: Hashable, Sendable {
    /// The number of bytes in a digest.
    public static let length = 32

    /// The bytes of the digest, always `length` of them.
    public let bytes: [UInt8]

    /// Creates a digest from its bytes.
    ///
    /// - Returns: nil unless there are exactly 32 bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }
}

extension StrongDigest: CustomStringConvertible {
    /// The digest as 64 lower-case hexadecimal digits.
    public var description: String { bytes.hexadecimal }
}

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

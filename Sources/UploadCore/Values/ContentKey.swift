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
    public init?(digest: some Collection<UInt8>) {
        guard digest.count == 16 else { return nil }
        high = digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        low = digest.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Parses 32 hexadecimal digits of either case.
    ///
    /// - Returns: nil for anything else.
    public init?(hexadecimal text: some StringProtocol) {
        guard text.utf8.count == 32, text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let high = UInt64(text.prefix(16), radix: 16), let low = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
    }

    /// The 16 bytes of the digest.
    public var bytes: [UInt8] {
        [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> UInt64(56 - $0 * 8)) } }
    }
}

extension ContentKey: CustomStringConvertible {
    /// The key as 32 lower-case hexadecimal digits.
    public var description: String { high.hexadecimal + low.hexadecimal }
}

extension ContentKey: Comparable {
    /// Compares the digests byte by byte.
    public static func < (left: ContentKey, right: ContentKey) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

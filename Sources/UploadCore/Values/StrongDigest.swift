/// The SHA-256 of a content (FIPS 180-4): what a server compares before it calls a content existing, since MD5 can be forged.
public struct StrongDigest: Hashable, Sendable {
    /// Bytes in a digest.
    public static let length = 32

    /// The digest's bytes, always `length` of them.
    public let bytes: [UInt8]

    /// Takes the bytes of a digest.
    ///
    /// - Returns: nil when there are not exactly 32 bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }
}

extension StrongDigest: CustomStringConvertible {
    /// 64 lower-case hexadecimal digits.
    public var description: String { bytes.hexadecimal }
}

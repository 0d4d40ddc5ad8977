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

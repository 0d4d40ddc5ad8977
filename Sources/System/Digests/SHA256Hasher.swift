import CCrypto

/// Computes a SHA-256 (FIPS 180-4). The state is a plain value: it can be copied, stored and continued on this machine.
public struct SHA256Hasher {
    /// The number of bytes in a stored state.
    static let stateSize = MemoryLayout<SHA256_CTX>.size

    // man 3 SHA256_Init, SHA256_Update, SHA256_Final: they fail only for null pointers, so their results are ignored.
    private var context = SHA256_CTX()

    /// Creates a hasher without input.
    public init() {
        SHA256_Init(&context)
    }

    /// Continues from a ``state`` of this machine.
    ///
    /// - Returns: nil if the bytes can't be such a state.
    init?(state: [UInt8]) {
        guard state.count == Self.stateSize else { return nil }
        withUnsafeMutableBytes(of: &context) { $0.copyBytes(from: state) }
        // `SHA256_Update` copies to offset `num` within an incomplete block; `SHA256_Final` writes `md_len` bytes.
        guard context.num < UInt32(SHA256_CBLOCK), context.md_len == UInt32(SHA256_DIGEST_LENGTH) else { return nil }
    }

    /// The state as bytes.
    var state: [UInt8] { withUnsafeBytes(of: context) { Array($0) } }

    /// Adds the next bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        SHA256_Update(&context, bytes.baseAddress, bytes.count)
    }

    /// Returns the 32 bytes of the digest. The hasher must not be used afterwards.
    public mutating func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256_Final(&digest, &context)
        return digest
    }

    /// Returns the 32 bytes of the digest of bytes in memory.
    public static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hasher = SHA256Hasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return hasher.finish()
    }
}

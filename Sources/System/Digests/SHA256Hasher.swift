import CCrypto

/// Computes a SHA-256 (FIPS 180-4). The state is a plain value, which can be copied.
public struct SHA256Hasher {
    // man 3 SHA256_Init, SHA256_Update, SHA256_Final: they fail only for null pointers, so their results are ignored.
    private var context = SHA256_CTX()

    /// Creates a hasher without input.
    public init() {
        SHA256_Init(&context)
    }

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

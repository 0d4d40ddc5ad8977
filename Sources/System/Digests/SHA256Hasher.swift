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

/// Computes a SHA-1 (FIPS 180-4). Only for protocols that ask for it: SHA-1 can be forged.
public enum SHA1Hasher {
    /// Returns the 20 bytes of the digest of bytes in memory.
    public static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
        // man 3 SHA1
        SHA1(bytes, bytes.count, &digest)
        return digest
    }
}

/// Computes HMAC-SHA-256 (RFC 2104).
public enum HMACSHA256 {
    /// The number of bytes in a block of SHA-256.
    private static let blockSize = 64

    /// Returns the 32 bytes of a message's code.
    public static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        var block = key.count > blockSize ? SHA256Hasher.hash(key) : key
        block += [UInt8](repeating: 0, count: blockSize - block.count)
        let inner = SHA256Hasher.hash(block.map { $0 ^ 0x36 } + message)
        return SHA256Hasher.hash(block.map { $0 ^ 0x5C } + inner)
    }
}

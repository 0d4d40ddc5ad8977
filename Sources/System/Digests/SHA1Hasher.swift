import CCrypto

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

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

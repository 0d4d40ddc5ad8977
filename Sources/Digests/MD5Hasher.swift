import CCrypto

/// Computes an MD5 (RFC 1321). The state is a plain value: it can be copied, stored and continued on this machine.
public struct MD5Hasher {
    /// Bytes in a stored state.
    static let stateSize = MemoryLayout<MD5_CTX>.size

    // man 3 MD5_Init, MD5_Update, MD5_Final: they fail for null pointers only, so their results are not looked at.
    private var context = MD5_CTX()

    /// Starts with no bytes.
    public init() {
        MD5_Init(&context)
    }

    /// Continues from a state that ``state`` returned on this machine.
    ///
    /// - Returns: nil if the bytes cannot be such a state.
    init?(state: [UInt8]) {
        guard state.count == Self.stateSize else { return nil }
        withUnsafeMutableBytes(of: &context) { $0.copyBytes(from: state) }
        // `MD5_Update` copies behind the bytes of a block that is begun.
        guard context.num < UInt32(MD5_CBLOCK) else { return nil }
    }

    /// The state as bytes.
    var state: [UInt8] { withUnsafeBytes(of: context) { Array($0) } }

    /// Adds the next bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        MD5_Update(&context, bytes.baseAddress, bytes.count)
    }

    /// Returns the 16 bytes of the digest. The hasher must not be used afterwards.
    public mutating func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(MD5_DIGEST_LENGTH))
        MD5_Final(&digest, &context)
        return digest
    }

    /// Returns the 16 bytes of the digest of bytes in memory.
    public static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hasher = MD5Hasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return hasher.finish()
    }
}

import CCrypto

/// SHA-256 (FIPS 180-4) whose state can be stored and taken up again.
struct StoredSHA256 {
    /// Bytes in a stored state.
    static let stateSize = MemoryLayout<SHA256_CTX>.size

    private var context = SHA256_CTX()

    /// Starts with no bytes.
    init() {
        outbox_sha256_init(&context)
    }

    /// Takes up a state that `state` gave on this machine.
    ///
    /// - Returns: nil where the bytes can't be one.
    init?(state: [UInt8]) {
        guard state.count == Self.stateSize else { return nil }
        withUnsafeMutableBytes(of: &context) { $0.copyBytes(from: state) }
        // `SHA256_Update` copies behind the bytes of a block that is begun, `SHA256_Final` writes as many as it says.
        guard context.num < UInt32(SHA256_CBLOCK), context.md_len == UInt32(SHA256_DIGEST_LENGTH) else { return nil }
    }

    /// The state as bytes.
    var state: [UInt8] { withUnsafeBytes(of: context) { Array($0) } }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        outbox_sha256_update(&context, bytes.baseAddress, bytes.count)
    }

    /// The digest of all bytes.
    mutating func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        outbox_sha256_final(&digest, &context)
        return digest
    }
}

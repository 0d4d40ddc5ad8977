import CCrypto

/// MD5 (RFC 1321) whose state can be stored and taken up again.
struct StoredMD5 {
    /// Bytes in a stored state.
    static let stateSize = MemoryLayout<MD5_CTX>.size

    private var context = MD5_CTX()

    /// Starts with no bytes.
    init() {
        outbox_md5_init(&context)
    }

    /// Takes up a state that `state` gave on this machine.
    ///
    /// - Returns: nil where the bytes can't be one.
    init?(state: [UInt8]) {
        guard state.count == Self.stateSize else { return nil }
        withUnsafeMutableBytes(of: &context) { $0.copyBytes(from: state) }
        // `MD5_Update` copies behind the bytes of a block that is begun.
        guard context.num < UInt32(MD5_CBLOCK) else { return nil }
    }

    /// The state as bytes.
    var state: [UInt8] { withUnsafeBytes(of: context) { Array($0) } }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        outbox_md5_update(&context, bytes.baseAddress, bytes.count)
    }

    /// The digest of all bytes.
    mutating func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(MD5_DIGEST_LENGTH))
        outbox_md5_final(&digest, &context)
        return digest
    }
}

import CCrypto

/// Computes an MD5 (RFC 1321). The state is a plain value, which can be copied.
public struct MD5Hasher {
    /// How many digests ``update(each:_:)`` computes together.
    public static let mostTogether = Int(OUTBOX_MD5_LANES)

    // man 3 MD5_Init, MD5_Update, MD5_Final: they fail only for null pointers, so their results are ignored.
    private var context = MD5_CTX()

    /// Creates a hasher without input.
    public init() {
        MD5_Init(&context)
    }

    /// Adds the next bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        outbox_md5_update(&context, bytes.baseAddress, bytes.count)
    }

    /// Adds the next bytes to two hashers. Takes little longer than for one.
    static func update(_ first: inout MD5Hasher, _ second: inout MD5Hasher, _ bytes: UnsafeRawBufferPointer) {
        let blockSize = Int(MD5_CBLOCK)
        let blocks = first.context.num == 0 && second.context.num == 0 ? bytes.count / blockSize : 0
        if blocks > 0 { outbox_md5_pair_update(&first.context, &second.context, bytes.baseAddress, blocks) }
        let rest = UnsafeRawBufferPointer(rebasing: bytes[(blocks * blockSize)...])
        first.update(rest)
        second.update(rest)
    }

    /// Returns the 16 bytes of the digest. The hasher must not be used afterwards.
    public mutating func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(MD5_DIGEST_LENGTH))
        MD5_Final(&digest, &context)
        return digest
    }

    /// Adds the next bytes to several hashers. Eight inputs of the same length take a fifth of the time of one after the
    /// other.
    ///
    /// - Parameter hashers: each has had a multiple of 64 bytes so far.
    public static func update(each hashers: inout [MD5Hasher], _ inputs: [UnsafeRawBufferPointer]) {
        for start in stride(from: 0, to: inputs.count, by: mostTogether) {
            let group = start..<min(start + mostTogether, inputs.count)
            var contexts = hashers[group].map(\.context)
            outbox_md5_update_each(
                &contexts, inputs[group].map(\.baseAddress), inputs[group].map(\.count), group.count)
            for (index, context) in zip(group, contexts) { hashers[index].context = context }
        }
    }

    /// Returns the 16 bytes of the digest of bytes in memory.
    public static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hasher = MD5Hasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return hasher.finish()
    }
}

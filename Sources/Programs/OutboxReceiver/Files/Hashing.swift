import CCrypto

// libcrypto's hashes with their states as plain values: each copy continues independently. The functions fail only
// for null pointers (man 3 MD5_Init, SHA256_Init), so the code ignores their results.

/// Computes an MD5 (RFC 1321).
struct RunningMD5: Sendable {
    private var context = MD5_CTX()

    init() {
        MD5_Init(&context)
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        outbox_md5_update(&context, bytes.baseAddress, bytes.count)
    }

    /// Adds each input to its hash. No hash may be within a block of 64 bytes. Eight at once take a fifth of the time of one
    /// after the other.
    static func update(_ hashes: inout [RunningMD5], with inputs: [UnsafeRawBufferPointer]) {
        let most = Int(OUTBOX_MD5_LANES)
        for start in stride(from: 0, to: inputs.count, by: most) {
            let group = start..<min(start + most, inputs.count)
            var contexts = hashes[group].map(\.context)
            outbox_md5_update_each(
                &contexts, inputs[group].map(\.baseAddress), inputs[group].map(\.count), group.count)
            for (index, context) in zip(group, contexts) { hashes[index].context = context }
        }
    }

    /// Returns the digest of the bytes so far.
    func digest() -> Hex128 {
        var context = context
        return withUnsafeTemporaryAllocation(byteCount: Int(MD5_DIGEST_LENGTH), alignment: 1) { digest in
            MD5_Final(digest.baseAddress, &context)
            return Hex128(digest: UnsafeRawBufferPointer(digest))
        }
    }

    static func hash(_ text: String) -> Hex128 {
        var hash = RunningMD5()
        Array(text.utf8).withUnsafeBytes { hash.update($0) }
        return hash.digest()
    }
}

/// Computes a SHA-256 (FIPS 180-4).
struct RunningSHA256: Sendable {
    private var context = SHA256_CTX()

    init() {
        SHA256_Init(&context)
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        SHA256_Update(&context, bytes.baseAddress, bytes.count)
    }

    /// Returns the 32 bytes of the digest of the bytes so far.
    func digest() -> [UInt8] {
        var context = context
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256_Final(&digest, &context)
        return digest
    }

    static func hash(_ text: some StringProtocol) -> [UInt8] {
        var hash = RunningSHA256()
        Array(text.utf8).withUnsafeBytes { hash.update($0) }
        return hash.digest()
    }
}

/// Compares secrets in constant time, independent of the position of a difference (man 3 CRYPTO_memcmp).
func isEqualInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}

/// The digests of an upload's bytes so far: always MD5, and SHA-256 if the client announced one.
struct RunningDigest: Sendable {
    /// The digests of all bytes.
    struct Result: Equatable, Sendable {
        let md5: Hex128
        let sha256: Hex256?
    }

    private var md5 = RunningMD5()
    private var sha256: RunningSHA256?

    init(withSHA256: Bool) {
        sha256 = withSHA256 ? RunningSHA256() : nil
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        md5.update(bytes)
        sha256?.update(bytes)
    }

    /// Adds the first bytes of several contents, each to its digest.
    static func begin(_ digests: inout [RunningDigest], with contents: [UnsafeRawBufferPointer]) {
        var md5s = digests.map(\.md5)
        RunningMD5.update(&md5s, with: contents)
        for index in digests.indices {
            digests[index].md5 = md5s[index]
            digests[index].sha256?.update(contents[index])
        }
    }

    func finalize() -> Result {
        Result(md5: md5.digest(), sha256: sha256.map { Hex256(digest: $0.digest()) })
    }
}

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

    func finalize() -> Result {
        Result(md5: md5.digest(), sha256: sha256.map { Hex256(digest: $0.digest()) })
    }
}

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

/// What must agree, beside the key, before one path joins another's upload or an old confirmation.
///
/// MD5 alone is forgeable. The digest is taken over the keyed digests of all blocks, with a secret that never leaves
/// the machine, so nobody can prepare two files that agree in it.
public struct ContentSeal: Hashable, Sendable {
    /// Size of the content in bytes.
    public var size: UInt64
    /// Keyed XXH3 over the list of keyed block digests.
    public var digest: UInt64

    /// Puts a seal together.
    public init(size: UInt64, digest: UInt64) {
        self.size = size
        self.digest = digest
    }
}

/// Names the server and the account that uploads and confirmations belong to; a change of either starts anew.
public struct RemoteScope: Hashable, Sendable, CustomStringConvertible {
    /// Protocol, URL, bucket, prefix and account in one line.
    public let description: String

    /// Names a server and an account by a line that holds everything that tells it from others.
    public init(_ description: String) {
        self.description = description
    }
}

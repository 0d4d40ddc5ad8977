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
///
/// The ledger stores `description`: `filesection https://example.org mary ann` is the server `filesection
/// https://example.org` and the account `mary ann`.
public struct RemoteScope: Hashable, Sendable, CustomStringConvertible {
    /// Protocol and URL, with one space between them.
    public let server: String
    /// Whose uploads these are; may hold spaces.
    public let account: String

    /// Names a server and an account.
    ///
    /// - Parameters:
    ///   - protocolName: a word, as in `remote.protocol`.
    ///   - url: the server's address; holds no space.
    ///   - account: of the user.
    public init(protocolName: String, url: String, account: String) {
        server = "\(protocolName) \(url)"
        self.account = account
    }

    /// Reads what ``description`` wrote.
    public init(_ description: String) {
        let words = description.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        server = words.prefix(2).joined(separator: " ")
        account = words.count > 2 ? String(words[2]) : ""
    }

    /// Server and account in one line.
    public var description: String { account.isEmpty ? server : "\(server) \(account)" }
}

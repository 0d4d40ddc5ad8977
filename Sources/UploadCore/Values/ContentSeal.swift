/// Size and digest of a content. Besides the key, both must match before a path joins another's upload or relies on an
/// old confirmation.
///
/// MD5 alone is forgeable. The digest covers the keyed digests of all blocks. Its secret never leaves the machine, so
/// nobody can prepare two files with the same seal.
public struct ContentSeal: Hashable, Sendable {
    /// The number of bytes in a block with a digest of its own. Fragments of every protocol are whole blocks, except for
    /// the last.
    public static let blockSize: UInt32 = 512 << 10

    /// The size of the content in bytes.
    public var size: UInt64
    /// Keyed XXH3 over the list of keyed block digests.
    public var digest: UInt64

    /// Creates a seal.
    public init(size: UInt64, digest: UInt64) {
        self.size = size
        self.digest = digest
    }
}

/// Names the server and the account of uploads and confirmations. After a change of either, uploads start over.
///
/// The ledger stores `description`. Example: `filesection https://example.org mary ann` is the server `filesection
/// https://example.org` and the account `mary ann`.
public struct RemoteScope: Hashable, Sendable, CustomStringConvertible {
    /// Protocol and URL, separated by one space.
    public let server: String
    /// The account that owns the uploads. May contain spaces.
    public let account: String

    /// Creates a scope from a server and an account.
    ///
    /// - Parameters:
    ///   - protocolName: a word, as in `remote.protocol`.
    ///   - url: the server's address, without spaces.
    ///   - account: the user's account.
    public init(protocolName: String, url: String, account: String) {
        server = "\(protocolName) \(url)"
        self.account = account
    }

    /// Parses a scope written by ``description``.
    public init(_ description: String) {
        let words = description.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        server = words.prefix(2).joined(separator: " ")
        account = words.count > 2 ? String(words[2]) : ""
    }

    /// Server and account in one line.
    public var description: String { account.isEmpty ? server : "\(server) \(account)" }
}

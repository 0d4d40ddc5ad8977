/// Names the protocol, the server and the account of uploads and confirmations. After a change of one of them, uploads
/// start over.
///
/// The ledger stores `description`. Example: `filesection https://example.org mary ann` is the protocol `filesection`,
/// the server `https://example.org` and the account `mary ann`.
public struct RemoteScope: Hashable, Sendable, CustomStringConvertible {
    /// The protocol: one word, as in `remote.protocol`.
    public let protocolName: String
    /// The server's address, and what else belongs to it (S3: the bucket). Without spaces.
    public let server: String
    /// The account that owns the uploads. May contain spaces.
    public let account: String

    /// Creates a scope from its parts.
    public init(protocolName: String, server: String, account: String) {
        self.protocolName = protocolName
        self.server = server
        self.account = account
    }

    /// Parses a scope written by ``description``.
    public init(_ description: String) {
        let words = description.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        self.init(
            protocolName: words.first ?? "", server: words.count > 1 ? words[1] : "",
            account: words.count > 2 ? words[2] : "")
    }

    /// Protocol and server, without the account.
    public var place: String { server.isEmpty ? protocolName : "\(protocolName) \(server)" }

    /// All parts in one line.
    public var description: String { account.isEmpty ? place : "\(place) \(account)" }
}

/// Names the protocol, the server and the account of uploads and confirmations. After a change of one of them, uploads
/// start over.
///
/// The ledger stores `description`. Example: `filesection https://example.org mary ann` is the protocol `filesection`,
/// the server `https://example.org` and the account `mary ann`.
///
/// An object, since every record of an upload has one, and records are copied often.
public final class RemoteScope: Hashable, Sendable, CustomStringConvertible {
    /// The protocol: one word, as in `remote.protocol`.
    public let protocolName: String
    /// The server's address, and what else belongs to it (S3: the bucket). Without spaces.
    public let server: String
    /// The account that owns the uploads. May contain spaces.
    public let account: String
    /// All parts in one line.
    public let description: String

    /// Creates a scope from its parts.
    public init(protocolName: String, server: String, account: String) {
        self.protocolName = protocolName
        self.server = server
        self.account = account
        let place = Self.place(protocolName, server)
        description = account.isEmpty ? place : "\(place) \(account)"
    }

    /// Parses a scope written by ``description``.
    public convenience init(_ description: String) {
        let (protocolName, rest) = Self.cut(description[...])
        let (server, account) = Self.cut(rest)
        self.init(protocolName: String(protocolName), server: String(server), account: String(account))
    }

    /// Returns what is before the first space, and what is behind.
    private static func cut(_ text: Substring) -> (Substring, Substring) {
        guard let space = text.utf8.firstIndex(of: UInt8(ascii: " ")) else { return (text, "") }
        return (text[..<space], text[text.utf8.index(after: space)...])
    }

    /// Protocol and server, without the account.
    public var place: String { Self.place(protocolName, server) }

    private static func place(_ protocolName: String, _ server: String) -> String {
        server.isEmpty ? protocolName : "\(protocolName) \(server)"
    }

    /// Whether both have the same parts.
    public static func == (left: RemoteScope, right: RemoteScope) -> Bool {
        left === right
            || left.account == right.account && left.server == right.server && left.protocolName == right.protocolName
    }

    /// Hashes all parts.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(protocolName)
        hasher.combine(server)
        hasher.combine(account)
    }
}

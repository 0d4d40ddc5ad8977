import LinuxSystem

/// A host, or with `*.` in front all hosts below a domain.
///
/// `IMG.example.org`, `*.bücher.example`, `192.0.2.1`, `2001:db8::1` and `[2001:DB8::1]` are patterns.
package struct HostPattern: Equatable, Sendable {
    private let host: String
    private let isDomain: Bool

    private static let wildcard = "*."

    /// Parses a pattern.
    ///
    /// - Parameter text: A name or an address. An IPv6 address may stand in brackets.
    /// - Throws: ``URLRefusal`` if no URL can have such a host.
    package init(_ text: String) throws(URLRefusal) {
        isDomain = text.hasPrefix(Self.wildcard)
        let name = isDomain ? text.dropFirst(Self.wildcard.count) : text[...]
        guard let address = HostName.address(name) else {
            host = try HostName.canonical(name)
            return
        }
        if isDomain { throw URLRefusal("no hosts are below an address") }
        host = address.isIPv4 ? "\(address)" : "[\(address)]"
    }

    /// The pattern in canonical form: lower case, international names encoded, IPv6 addresses in brackets.
    package var text: String { isDomain ? Self.wildcard + host : host }

    /// Whether the host of a URL matches.
    package func matches(_ url: CanonicalURL) -> Bool { isDomain ? url.host.hasSuffix("." + host) : url.host == host }
}

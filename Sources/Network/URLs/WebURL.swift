/// The components of an absolute http or https URL, as written (RFC 3986, section 3).
///
/// The parser validates nothing but the scheme. Each user adds the rules of its own: ``CanonicalURL`` those of the
/// avatar mirror, the configuration those of `remote.url`.
package struct WebURL: Sendable {
    /// Whether the scheme is https.
    package let isSecure: Bool
    /// User info, host and port.
    package let authority: Authority
    /// Empty, or from the first slash on.
    package let path: Substring
    /// nil without a question mark.
    package let query: Substring?
    /// nil without a `#`.
    package let fragment: Substring?

    /// Splits a URL; nil if the text does not begin with `http://` or `https://`, in upper or lower case.
    package init?(_ text: String) {
        let bytes = text.utf8
        let name = bytes.prefix { $0 != UInt8(ascii: ":") }
        switch String(Substring(name)).lowercased() {
        case "http": isSecure = false
        case "https": isSecure = true
        default: return nil
        }
        guard bytes[name.endIndex...].starts(with: "://".utf8) else { return nil }
        // Bytes are compared and not characters: with a combining mark behind it, a slash is another character.
        var rest = text[bytes.index(name.endIndex, offsetBy: 3)...]
        fragment = Self.cut(&rest, at: "#")
        query = Self.cut(&rest, at: "?")
        let end = rest.utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        authority = Authority(rest[..<end])
        path = rest[end...]
    }

    /// Cuts a text before the first `mark`.
    ///
    /// - Returns: The text behind the mark; nil without a mark.
    private static func cut(_ text: inout Substring, at mark: Unicode.Scalar) -> Substring? {
        guard let index = text.utf8.firstIndex(of: UInt8(ascii: mark)) else { return nil }
        defer { text = text[..<index] }
        return text[text.utf8.index(after: index)...]
    }

    /// Whether the URL names this machine (``HostName/isLoopback(_:)``). Never true with user info: programs disagree
    /// on where it ends.
    package var isLoopback: Bool { authority.userInfo == nil && HostName.isLoopback(authority.host) }

    // MARK: Texts for messages

    /// Returns a URL without query and fragment, which may hold a token, or a portal's data about this machine.
    package static func withoutQuery(_ text: String) -> String {
        String(Substring(text.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }))
    }

    /// Returns a URL of any scheme without its user info, which may be a password.
    package static func withoutUserInfo(_ text: String) -> String {
        let start = text.utf8.firstRange(of: "://".utf8)?.upperBound ?? text.startIndex
        let authority = text.utf8[start...].prefix { !"/?#\\".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return text }
        return String(text[..<start] + text[text.utf8.index(after: at)...])
    }
}

/// User info, host and port, as written (RFC 3986, section 3.2).
package struct Authority: Sendable {
    /// The whole authority.
    package let text: Substring
    /// The text before the last `@`; nil without one.
    package let userInfo: Substring?
    /// A name or an address; an IPv6 address in brackets.
    package let host: Substring
    /// The text after the colon; nil without a colon.
    package let port: Substring?

    /// Splits `user@host:port`.
    package init(_ text: Substring) {
        self.text = text
        let at = text.utf8.lastIndex(of: UInt8(ascii: "@"))
        userInfo = at.map { text[..<$0] }
        let place = at.map { text[text.utf8.index(after: $0)...] } ?? text
        var search = place.utf8[...]
        if search.first == UInt8(ascii: "["), let end = search.firstIndex(of: UInt8(ascii: "]")) {
            search = search[end...]
        }
        let colon = search.firstIndex(of: UInt8(ascii: ":"))
        host = colon.map { place[..<$0] } ?? place
        port = colon.map { place[place.utf8.index(after: $0)...] }
    }

    /// The port as a number from 0 to 65535; nil without a port, or if its text is not such a number.
    package var portNumber: UInt16? {
        // `UInt16.init` also accepts a sign.
        guard let port, port.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return UInt16(port)
    }
}

/// Scheme, host and port of a URL (RFC 6454, section 4). Credentials for one origin must not reach another.
package struct WebOrigin: Hashable, Sendable {
    private let isSecure: Bool
    /// In lower case.
    private let host: String
    private let port: UInt16

    /// Returns the origin of a URL; nil if the text is no http or https URL, or has a user name or an invalid port:
    /// programs disagree on where these end.
    package init?(_ url: String) {
        guard let url = WebURL(url) else { return nil }
        self.init(url)
    }

    /// Returns the origin of a URL; nil if the URL has a user name or an invalid port.
    package init?(_ url: WebURL) {
        let authority = url.authority
        guard authority.userInfo == nil, !authority.host.isEmpty else { return nil }
        isSecure = url.isSecure
        host = authority.host.lowercased()
        // An empty port is the scheme's own (RFC 3986, section 3.2.3).
        if authority.port?.isEmpty ?? true {
            port = url.isSecure ? 443 : 80
        } else if let number = authority.portNumber {
            port = number
        } else {
            return nil
        }
    }
}

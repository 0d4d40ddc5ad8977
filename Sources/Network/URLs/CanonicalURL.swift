/// The components of an http or https URL in canonical form (RFC 3986, section 6).
///
/// Scheme and host are lower case, international names encoded (``HostName``). The scheme's default port, user info and
/// fragment are dropped. Path and query stay unchanged except for their percent-encoding (``PercentEncoding``); `.` and
/// `..` are not resolved.
package struct CanonicalURL: Equatable, Sendable {
    /// `http:` or `https:`.
    package let scheme: String
    /// The host to request: ASCII, lower case, IPv6 addresses in brackets.
    package let host: String
    /// nil for the scheme's default port.
    package let port: UInt16?
    /// The canonical path components; at least one, which is empty for `/`.
    package let path: [[UInt8]]
    /// The canonical query; nil if the URL has no question mark.
    package let query: [UInt8]?

    /// Parses a URL as people write it.
    ///
    /// - Throws: ``URLRefusal`` for other schemes, control characters, and an invalid host or port.
    package init(_ text: String) throws(URLRefusal) {
        if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) { throw URLRefusal("it holds a control character") }
        guard let url = WebURL(text) else { throw URLRefusal("it begins with neither http:// nor https://") }
        scheme = url.isSecure ? "https:" : "http:"
        (host, port) = try Self.hostAndPort(url.authority, standardPort: url.isSecure ? 443 : 80)
        path = url.path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { PercentEncoding.canonicalPart($0) }
        query = url.query.map { PercentEncoding.canonical($0.utf8) }
    }

    /// Whether the scheme is https.
    package var isSecure: Bool { scheme == "https:" }

    /// The URL.
    package var text: String { scheme + textBehindScheme }

    /// The URL from the two slashes on.
    private var textBehindScheme: String {
        var bytes = Array("//\(host)".utf8)
        if let port { bytes += Array(":\(port)".utf8) }
        for part in path { bytes += [UInt8(ascii: "/")] + part }
        if let query { bytes += [UInt8(ascii: "?")] + query }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Requests never carry user info. This function only checks its form.
    private static func hostAndPort(
        _ authority: Authority, standardPort: UInt16
    ) throws(URLRefusal) -> (host: String, port: UInt16?) {
        if authority.text.utf8.contains(UInt8(ascii: "\\")) {
            throw URLRefusal("a backslash can't stand before the path")
        }
        // Programs disagree on which @ ends the user info, and so on the host.
        if authority.userInfo?.utf8.contains(UInt8(ascii: "@")) == true {
            throw URLRefusal("an @ in user info must be written as %40")
        }
        let host = try HostName.canonical(authority.host)
        guard let text = authority.port, !text.isEmpty else { return (host, nil) }
        guard let port = authority.portNumber, port > 0 else {
            throw URLRefusal("its port is not a number from 1 to 65535 (an IPv6 address needs brackets)")
        }
        return (host, port == standardPort ? nil : port)
    }

    /// Resolves a `Location` (RFC 3986, section 5.2); nil if the result is no http or https URL.
    package func following(_ location: String) -> CanonicalURL? {
        try? CanonicalURL(WebURL.target(of: location, from: text))
    }
}

/// Why a text is no URL that can be requested.
package struct URLRefusal: Error, Equatable, Sendable {
    /// A clause about the URL, as "it holds a control character".
    package let reason: String

    init(_ reason: String) { self.reason = reason }
}

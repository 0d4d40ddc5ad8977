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

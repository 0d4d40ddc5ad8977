import URLs

/// The parts of an `http` or `https` URL that the agent checks before sending anything.
package struct WebAddress: Sendable, Equatable {
    package let isEncrypted: Bool
    /// In lower case, without the brackets of an IPv6 address.
    package let host: String
    /// Host and port as written.
    package let authority: String
    /// What the path of a creation URL may hold, besides the characters of URLs: the MD5 and the extension of a file.
    package static let placeholders = ["{key}", "{ext}"]

    /// Parses an absolute URL. The error names the mistake without repeating a password.
    package init(_ url: String) throws(Objection) {
        guard let parts = WebURL(url) else { throw Objection("must begin with http:// or https://") }
        let path = Self.placeholders.reduce(String(parts.path)) { $0.replacing($1, with: "") }
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            !(parts.authority.text + path).utf8.contains(where: { #""<>\^`{|}"#.utf8.contains($0) })
        else { throw Objection("holds characters that a URL cannot; percent-encode them") }
        guard parts.query == nil, parts.fragment == nil else { throw Objection("must end before any ? or #") }
        guard parts.authority.userInfo == nil else {
            throw Objection("must not hold a user name or password; put a token into the file that token_file names")
        }
        isEncrypted = parts.isSecure
        host = try Self.host(of: parts.authority)
        authority = String(parts.authority.text)
    }

    private static func host(of authority: Authority) throws(Objection) -> String {
        let host = authority.host.lowercased()
        let isBracketed = host.hasPrefix("[")
        let isHost =
            isBracketed
            ? host.hasSuffix("]") && host.contains(":") && host.dropFirst().dropLast().allSatisfy(isPartOfAddress)
            : !host.isEmpty && !host.contains(where: { "[]".contains($0) })
        guard isHost else { throw Objection("names no host") }
        if authority.port != nil, authority.portNumber ?? 0 == 0 {
            throw Objection("names a port outside 1 … 65535")
        }
        return isBracketed ? String(host.dropFirst().dropLast()) : host
    }

    private static func isPartOfAddress(_ character: Character) -> Bool {
        character.isHexDigit || character == ":" || character == "."
    }
}

extension Configuration.Remote {
    /// Whether a token may be sent to this server: over TLS, to this machine, or if `insecure_http` permits it.
    /// Access keys only sign, which proves one request.
    package var allowsToken: Bool {
        guard !insecureHTTP, !self.protocol.usesAccessKeys else { return true }
        guard let address = try? WebAddress(url) else { return false }
        return address.isEncrypted || HostName.isLoopback(address.host[...])
    }
}

import Transport

/// The parts of an `http` or `https` URL that the agent checks before sending anything.
package struct WebAddress: Sendable, Equatable {
    package let isEncrypted: Bool
    /// In lower case, without the brackets of an IPv6 address.
    package let host: String
    /// Host and port as written.
    package let authority: String
    /// The address as stored: without trailing slashes.
    package let text: String

    /// Parses an absolute URL. The error names the mistake without repeating a password.
    package init(_ url: String) throws(Objection) {
        guard let separator = url.range(of: "://") else {
            throw Objection("must begin with http:// or https://")
        }
        switch url[..<separator.lowerBound].lowercased() {
        case "http": isEncrypted = false
        case "https": isEncrypted = true
        default: throw Objection("must begin with http:// or https://")
        }
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            !url.utf8.contains(where: { #""<>\^`{|}"#.utf8.contains($0) })
        else { throw Objection("holds characters that a URL cannot; percent-encode them") }

        let rest = url[separator.upperBound...]
        guard !rest.contains("?"), !rest.contains("#") else { throw Objection("must end before any ? or #") }
        let authority = rest.prefix { $0 != "/" }
        guard !authority.contains("@") else {
            throw Objection("must not hold a user name or password; keep a token in the file token_file names")
        }
        host = try Self.host(of: authority)
        self.authority = String(authority)
        var text = url[...]
        while text.last == "/" { text.removeLast() }
        self.text = String(text)
    }

    private static func host(of authority: Substring) throws(Objection) -> String {
        guard let (host, port) = splitPort(authority), !host.isEmpty else { throw Objection("names no host") }
        if let port, !(1...65535).contains(port) { throw Objection("names a port outside 1 … 65535") }
        return host
    }

    /// Splits `host`, `host:port`, `[v6]` or `[v6]:port`; `nil` for any other text. An invalid port becomes -1.
    static func splitPort(_ authority: Substring) -> (host: String, port: Int?)? {
        let host: Substring
        let tail: Substring
        if authority.first == "[" {
            guard let close = authority.firstIndex(of: "]") else { return nil }
            host = authority[authority.index(after: authority.startIndex)..<close]
            guard host.contains(":"), host.utf8.allSatisfy({ UInt8(ascii: ":") == $0 || isHexDigit($0) || $0 == 0x2E })
            else { return nil }
            tail = authority[authority.index(after: close)...]
        } else {
            host = authority.prefix { $0 != ":" }
            guard !host.contains("["), !host.contains("]") else { return nil }
            tail = authority[host.endIndex...]
        }
        guard !tail.isEmpty else { return (host.lowercased(), nil) }
        let digits = tail.dropFirst()
        guard tail.first == ":", !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return (host.lowercased(), -1)
        }
        return (host.lowercased(), Int(digits) ?? -1)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte & 0xDF)
    }
}

extension String {
    /// The first occurrence of `other`. The standard library offers this only with Foundation.
    fileprivate func range(of other: String) -> Range<Index>? {
        self.ranges(of: other).first
    }
}

extension Configuration.Remote {
    /// Whether a token may be sent to this server: over TLS, to this machine, or if `insecure_http` permits it.
    package var allowsToken: Bool {
        guard !insecureHTTP else { return true }
        guard let address = try? WebAddress(url) else { return false }
        return address.isEncrypted || LoopbackHost.isOne(address.host)
    }
}

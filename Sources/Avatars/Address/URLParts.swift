/// The components of an http or https URL in canonical form (RFC 3986, section 3).
struct URLParts: Equatable, Sendable {
    /// `http:` or `https:`.
    let scheme: String
    /// The host to request: ASCII, lower case, IPv6 addresses in brackets.
    let host: String
    /// nil for the scheme's default port.
    let port: UInt16?
    /// The canonical path components; at least one, which is empty for `/`.
    let path: [[UInt8]]
    /// The canonical query; nil if the URL has no question mark.
    let query: [UInt8]?

    init(_ text: String) throws(AvatarAddressError) {
        if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw AvatarAddressError(text, "it holds a control character")
        }
        let bytes = Array(text.utf8)
        let afterScheme: Int
        if Self.begins(bytes, with: "https://") {
            (scheme, afterScheme) = ("https:", 8)
        } else if Self.begins(bytes, with: "http://") {
            (scheme, afterScheme) = ("http:", 7)
        } else {
            throw AvatarAddressError(text, "it begins with neither http:// nor https://")
        }
        let rest = bytes[afterScheme...].prefix { $0 != UInt8(ascii: "#") }
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        do {
            let (hostText, portText) = try Self.hostAndPort(authority)
            host = try HostName.canonical(hostText)
            port = try Self.port(portText, butNot: scheme == "https:" ? 443 : 80)
        } catch {
            throw AvatarAddressError(text, error.reason)
        }
        let target = rest.dropFirst(authority.count)
        let mark = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        query = mark == target.endIndex ? nil : PercentEncoding.canonical(target[(mark + 1)...])
        path = target[..<mark].dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map(PercentEncoding.canonicalPart)
    }

    /// The URL from the two slashes on.
    var textBehindScheme: String {
        var bytes = Array("//\(host)".utf8)
        if let port { bytes += Array(":\(port)".utf8) }
        for part in path { bytes += [UInt8(ascii: "/")] + part }
        if let query { bytes += [UInt8(ascii: "?")] + query }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func begins(_ bytes: [UInt8], with scheme: String) -> Bool {
        bytes.count >= scheme.utf8.count
            && zip(bytes, scheme.utf8).allSatisfy { byte, wanted in
                byte == wanted || (byte | 0x20 == wanted && UInt8(ascii: "A") <= byte && byte <= UInt8(ascii: "Z"))
            }
    }

    /// Drops the user info, which is never sent, and separates the port.
    private static func hostAndPort(
        _ authority: ArraySlice<UInt8>
    ) throws(HostName.Refusal) -> (host: ArraySlice<UInt8>, port: ArraySlice<UInt8>) {
        if authority.contains(UInt8(ascii: "\\")) { throw .init("a backslash can't stand before the path") }
        var rest = authority
        if let at = authority.firstIndex(of: UInt8(ascii: "@")) {
            rest = authority[(at + 1)...]
            // Programs disagree on which @ ends the user info, and so on the host.
            if rest.contains(UInt8(ascii: "@")) { throw .init("an @ in user info must be written as %40") }
        }
        let afterAddress = rest.first == UInt8(ascii: "[") ? rest.firstIndex(of: UInt8(ascii: "]")) : nil
        guard let colon = rest[(afterAddress ?? rest.startIndex)...].firstIndex(of: UInt8(ascii: ":")) else {
            return (rest, [])
        }
        return (rest[..<colon], rest[(colon + 1)...])
    }

    private static func port(
        _ text: ArraySlice<UInt8>, butNot standard: UInt16
    ) throws(HostName.Refusal) -> UInt16? {
        if text.isEmpty { return nil }
        guard text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let port = UInt16(String(decoding: text, as: UTF8.self)), port > 0
        else { throw .init("its port is not a number from 1 to 65535 (an IPv6 address needs brackets)") }
        return port == standard ? nil : port
    }
}

package import LinuxSystem

/// Judges the hosts of URLs, and converts them to the canonical form for requests.
package enum HostName {
    /// Returns the address that a host stands for: four decimal numbers, or an IPv6 address with or without brackets;
    /// nil for a name.
    ///
    /// Forms that only some resolvers accept (`127.1`, `0x7f.1`) are no addresses.
    package static func address(_ host: Substring) -> IPAddress? {
        let bytes = host.utf8
        guard bytes.first == UInt8(ascii: "[") else { return IPAddress(String(host)) }
        guard bytes.last == UInt8(ascii: "]") else { return nil }
        let address = IPAddress(String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self))
        return address?.isIPv4 == true ? nil : address
    }

    /// Whether a host means this machine: `localhost`, 127.0.0.0/8 in its usual form, or `::1` in any form.
    ///
    /// Such a host may receive a token over plain http, but then no proxy may be used. Both decisions use this test.
    package static func isLoopback(_ host: Substring) -> Bool {
        host.lowercased() == "localhost" || address(host)?.isLoopback == true
    }

    /// Maximum lengths of a name and a label in the DNS (RFC 1035, section 2.3.4).
    private static let longestName = 253
    private static let longestLabel = 63
    /// Characters that the DNS treats as a dot in international names (RFC 3490, section 3.1).
    private static let otherDots: Set<Unicode.Scalar> = ["\u{3002}", "\u{FF0E}", "\u{FF61}"]

    /// Returns the canonical form: lower case, international labels in Punycode, no trailing dot, IPv6 addresses in
    /// brackets as RFC 5952 writes them.
    ///
    /// - Parameter name: An IPv6 address in brackets.
    static func canonical(_ name: Substring) throws(URLRefusal) -> String {
        if name.utf8.first == UInt8(ascii: "[") { return try addressInBrackets(name) }
        if name.isEmpty { throw URLRefusal("it has no host") }
        var labels: [String] = []
        let parts = name.unicodeScalars.split(
            omittingEmptySubsequences: false, whereSeparator: { $0 == "." || otherDots.contains($0) })
        for (index, part) in parts.enumerated() {
            // A trailing dot marks a complete name. All names count as complete here.
            if part.isEmpty && index > 0 && index == parts.count - 1 { break }
            labels.append(try label(part))
        }
        let host = labels.joined(separator: ".")
        if host.utf8.count > longestName { throw URLRefusal("its host is longer than \(longestName) bytes") }
        if let last = labels.last, isNumber(last), address(host[...])?.isIPv4 != true {
            throw URLRefusal("its host is neither a name nor an address of four decimal numbers")
        }
        return host
    }

    private static func label(_ part: Substring.UnicodeScalarView.SubSequence) throws(URLRefusal) -> String {
        if part.isEmpty { throw URLRefusal("its host is empty, or has an empty part") }
        let label = String(part).lowercased()
        var encoded = label
        if label.utf8.contains(where: { $0 >= 0x80 }) {
            guard label.unicodeScalars.allSatisfy(isAllowed), let punycode = Punycode.encode(label) else {
                throw URLRefusal("its host can't be encoded; write it in ASCII (xn--…)")
            }
            encoded = "xn--" + punycode
        }
        guard encoded.utf8.allSatisfy(isAllowed) else {
            throw URLRefusal("its host holds a character that host names do not allow")
        }
        if encoded.utf8.count > longestLabel { throw URLRefusal("a part of its host is over \(longestLabel) bytes") }
        return encoded
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Whether a character is a letter, mark or digit that compatibility mapping does not change. RFC 5892 calls these
    /// stable.
    ///
    /// Combining diacritical marks are excluded: composed and decomposed spellings of a name must not become two
    /// names, and composition needs tables that are not available here.
    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x80 && isAllowed(UInt8(scalar.value)) }
        if (0x0300...0x036F).contains(scalar.value) { return false }
        // Full case folding would split these two letters, but RFC 5892, section 2.6, accepts them unchanged.
        if scalar == "ß" || scalar == "ς" { return true }
        switch scalar.properties.generalCategory {
        case .lowercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark, .decimalNumber:
            return !scalar.properties.changesWhenNFKCCaseFolded
        default: return false
        }
    }

    /// Whether programs read a host that ends in this label as an IPv4 address (WHATWG URL, "ends in a number").
    private static func isNumber(_ label: String) -> Bool {
        label.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            || label.hasPrefix("0x") && label.utf8.dropFirst(2).allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
    }

    private static func addressInBrackets(_ text: Substring) throws(URLRefusal) -> String {
        guard text.utf8.last == UInt8(ascii: "]") else { throw URLRefusal("its IPv6 address must stand in brackets") }
        guard let address = address(text) else {
            throw URLRefusal("what stands in brackets is not an IPv6 address")
        }
        return "[\(address)]"
    }
}

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

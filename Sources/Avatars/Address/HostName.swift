import Glibc

/// Converts host names in URLs to the canonical form for requests.
enum HostName {
    /// The reason why a host is refused.
    struct Refusal: Error {
        let reason: String
        init(_ reason: String) { self.reason = reason }
    }

    /// Maximum lengths of a name and a label in the DNS (RFC 1035, section 2.3.4).
    private static let longestName = 253
    private static let longestLabel = 63
    /// Characters that the DNS treats as a dot in international names (RFC 3490, section 3.1).
    private static let otherDots: Set<Unicode.Scalar> = ["\u{3002}", "\u{FF0E}", "\u{FF61}"]

    /// Returns the canonical form: lower case, international labels in Punycode, no trailing dot, IPv6 addresses in
    /// brackets as RFC 5952 writes them.
    static func canonical(_ text: ArraySlice<UInt8>) throws(Refusal) -> String {
        if text.first == UInt8(ascii: "[") { return try addressInBrackets(text) }
        guard let name = String(validating: text, as: UTF8.self), !name.isEmpty else { throw Refusal("it has no host") }
        var labels: [String] = []
        let parts = name.unicodeScalars.split(
            omittingEmptySubsequences: false, whereSeparator: { $0 == "." || otherDots.contains($0) })
        for (index, part) in parts.enumerated() {
            // A trailing dot marks a complete name. All names count as complete here.
            if part.isEmpty && index > 0 && index == parts.count - 1 { break }
            labels.append(try label(part))
        }
        let host = labels.joined(separator: ".")
        if host.utf8.count > longestName { throw Refusal("its host is longer than \(longestName) bytes") }
        if let last = labels.last, isNumber(last), !isIPv4(host) {
            throw Refusal("its host is neither a name nor an address of four decimal numbers")
        }
        return host
    }

    private static func label(_ part: Substring.UnicodeScalarView.SubSequence) throws(Refusal) -> String {
        if part.isEmpty { throw Refusal("its host is empty or has a part that is") }
        let label = String(part).lowercased()
        var encoded = label
        if label.utf8.contains(where: { $0 >= 0x80 }) {
            guard label.unicodeScalars.allSatisfy(isAllowed), let punycode = Punycode.encode(label) else {
                throw Refusal("its host can't be encoded; write it in its ASCII form (xn--)")
            }
            encoded = "xn--" + punycode
        }
        guard encoded.utf8.allSatisfy(isAllowed) else { throw Refusal("its host holds a character that no name has") }
        if encoded.utf8.count > longestLabel { throw Refusal("a part of its host is over \(longestLabel) bytes") }
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

    private static func isIPv4(_ text: String) -> Bool {
        var address = in_addr()
        return inet_pton(AF_INET, text, &address) == 1
    }

    private static func addressInBrackets(_ text: ArraySlice<UInt8>) throws(Refusal) -> String {
        guard text.last == UInt8(ascii: "]") else { throw Refusal("its IPv6 address must stand in brackets") }
        var address = in6_addr()
        var spelt = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_pton(AF_INET6, String(decoding: text.dropFirst().dropLast(), as: UTF8.self), &address) == 1,
            inet_ntop(AF_INET6, &address, &spelt, socklen_t(spelt.count)) != nil
        else { throw Refusal("what stands in brackets is not an IPv6 address") }
        let end = spelt.firstIndex(of: 0) ?? spelt.endIndex
        return "[\(String(decoding: spelt[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self))]"
    }
}

import Glibc

/// Host names as they stand in URLs, in the one spelling that is requested.
enum HostName {
    /// Why a host is not taken.
    struct Refusal: Error {
        let reason: String
        init(_ reason: String) { self.reason = reason }
    }

    /// Longest name and label of the DNS (RFC 1035, section 2.3.4).
    private static let longestName = 253
    private static let longestLabel = 63
    /// What the DNS takes for a dot in international names (RFC 3490, section 3.1).
    private static let otherDots: Set<Unicode.Scalar> = ["\u{3002}", "\u{FF0E}", "\u{FF61}"]

    /// The canonical spelling: lower case, international labels in Punycode, no dot at the end, IPv6 addresses in
    /// brackets as RFC 5952 writes them.
    static func canonical(_ text: ArraySlice<UInt8>) throws(Refusal) -> String {
        if text.first == UInt8(ascii: "[") { return try addressInBrackets(text) }
        guard let name = String(validating: text, as: UTF8.self), !name.isEmpty else { throw Refusal("it has no host") }
        var labels: [String] = []
        let parts = name.unicodeScalars.split(
            omittingEmptySubsequences: false, whereSeparator: { $0 == "." || otherDots.contains($0) })
        for (index, part) in parts.enumerated() {
            // One dot at the end says that the name is complete, which it is taken for anyway.
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

    /// Letters, marks and digits that compatibility mapping leaves as they are: what RFC 5892 calls stable.
    ///
    /// Combining diacritical marks are not among them, since composed and decomposed spellings of a name must not be two
    /// names, and composing takes tables that are not at hand.
    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x80 && isAllowed(UInt8(scalar.value)) }
        if (0x0300...0x036F).contains(scalar.value) { return false }
        // The two letters that full case folding takes apart and RFC 5892, section 2.6, takes as they are.
        if scalar == "ß" || scalar == "ς" { return true }
        switch scalar.properties.generalCategory {
        case .lowercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark, .decimalNumber:
            return !scalar.properties.changesWhenNFKCCaseFolded
        default: return false
        }
    }

    /// Whether programs take a host that ends in this label for an IPv4 address (WHATWG URL, "ends in a number").
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

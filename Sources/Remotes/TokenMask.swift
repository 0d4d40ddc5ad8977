import FoundationEssentials

/// Hides the account's own token in text from outside: a proxy that echoes a request's header would otherwise put it
/// into sidecars, the log and the ledger.
///
/// The token is found as given, percent-encoded and base64-encoded, at any position of a longer base64 text.
public struct TokenMask: Equatable, Sendable {
    /// What stands in the place of a token; every character of it may stand in a URL.
    public static let mark = "***"
    /// Shorter tokens are not looked for: they would be found in ordinary words.
    static let shortest = 4
    /// Shorter pieces of base64 text would be found by chance.
    private static let shortestEncoded = 8

    private let forms: [[UInt8]]

    /// Prepares to hide a token; with nil nothing is hidden.
    public init(token: String?) {
        guard let token, token.utf8.count >= Self.shortest else {
            forms = []
            return
        }
        let bytes = Array(token.utf8)
        let encoded = (0..<3).map { Self.base64(of: bytes, at: $0) }.filter { $0.utf8.count >= Self.shortestEncoded }
        let urlSafe = encoded.map { $0.replacing("+", with: "-").replacing("/", with: "_") }
        let percent = ["0123456789ABCDEF", "0123456789abcdef"].map { Self.percentEncoded(bytes, digits: $0) }
        forms = Set([token] + percent + encoded + urlSafe).map { Array($0.utf8) }
    }

    /// A text without the token.
    public func hide(in text: String) -> String {
        if forms.isEmpty { return text }
        // Bytes, since a combining character behind a token would make another character of its last letter.
        let bytes = forms.reduce(Array(text.utf8)) { $0.replacing($1, with: Array(Self.mark.utf8)) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// RFC 3986, section 2.3: all but unreserved characters are encoded.
    private static func percentEncoded(_ bytes: [UInt8], digits: String) -> String {
        let digits = Array(digits)
        return bytes.reduce(into: "") { text, byte in
            let character = Character(Unicode.Scalar(byte))
            if character.isASCII, character.isLetter || character.isNumber || "-._~".contains(character) {
                text.append(character)
            } else {
                text += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }

    /// The characters of a base64 text that depend on the given bytes alone.
    ///
    /// - Parameter offset: how many bytes stand before them in the last group of three.
    private static func base64(of bytes: [UInt8], at offset: Int) -> String {
        let text = Data([UInt8](repeating: 0, count: offset) + bytes).base64EncodedString()
        let bits = (offset + bytes.count) * 8
        return String(text.prefix(bits / 6).dropFirst((offset * 8 + 5) / 6))
    }
}

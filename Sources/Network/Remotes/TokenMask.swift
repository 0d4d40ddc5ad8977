import FoundationEssentials
import URLs

/// Hides the account's token in texts from outside: otherwise a proxy echoing a request's header would put the token
/// into sidecars, the log and the ledger.
///
/// Finds the token unchanged, percent-encoded and base64-encoded, at any position of a longer base64 text.
public struct TokenMask: Equatable, Sendable {
    /// The replacement for a token; all its characters are legal in a URL.
    static let mark = "***"
    /// Minimum length of a token in bytes; shorter tokens would also match ordinary words.
    static let shortest = 4
    /// Minimum length of base64 text; shorter pieces would match by chance.
    private static let shortestEncoded = 8

    /// The hidden token.
    let token: String?
    private let forms: [[UInt8]]

    /// Prepares to hide a token; nil hides nothing.
    public init(token: String?) {
        self.token = token
        guard let token, token.utf8.count >= Self.shortest else {
            forms = []
            return
        }
        let bytes = Array(token.utf8)
        let encoded = (0..<3).map { Self.base64(of: bytes, at: $0) }.filter { $0.utf8.count >= Self.shortestEncoded }
        let urlSafe = encoded.map { $0.replacing("+", with: "-").replacing("/", with: "_") }
        let percent = [false, true].map { PercentEncoding.escapingReserved(bytes, lowercaseDigits: $0) }
        forms = Array(Set([bytes] + percent + (encoded + urlSafe).map { Array($0.utf8) }))
    }

    /// Whether an id is the token, or contains one that is too long to be in an id by chance.
    func isToken(_ id: String) -> Bool {
        guard let token else { return false }
        return id == token || token.utf8.count >= 16 && hide(in: id) != id
    }

    /// Returns a text without the token.
    public func hide(in text: String) -> String {
        var text = text
        guard text.withUTF8({ bytes in forms.contains { Self.find($0, in: bytes) } }) else { return text }
        // Compares bytes, since a combining character after a token would change the token's last character.
        let bytes = forms.reduce(Array(text.utf8)) { $0.replacing($1, with: Array(Self.mark.utf8)) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func find(_ form: [UInt8], in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard form.count <= bytes.count else { return false }
        return (0...bytes.count - form.count).contains { bytes[$0] == form[0] && bytes[$0...].starts(with: form) }
    }

    /// Returns the characters of a base64 text that depend only on the given bytes.
    ///
    /// - Parameter offset: number of bytes before them in the last group of three.
    private static func base64(of bytes: [UInt8], at offset: Int) -> String {
        let text = Data([UInt8](repeating: 0, count: offset) + bytes).base64EncodedString()
        let bits = (offset + bytes.count) * 8
        return String(text.prefix(bits / 6).dropFirst((offset * 8 + 5) / 6))
    }
}

/// Syntax of bearer tokens (RFC 6750, section 2.1): visible ASCII characters.
package enum BearerToken {
    /// Maximum length in bytes.
    package static let longest = 16 * 1024

    /// Parses a token from user input or a file. The token must be the only line; surrounding white space is ignored.
    ///
    /// - Throws: `SessionError.notAToken`, whose message never contains any of the token.
    package static func parse(_ text: String) throws(SessionError) -> String {
        let lines = text.split(whereSeparator: \.isNewline).map(\.trimmed).filter { !$0.isEmpty }
        guard let token = lines.first else { throw .notAToken("it is empty; give the token on one line") }
        guard lines.count == 1 else { throw .notAToken("it has \(lines.count) lines; give the token on one line") }
        guard token.utf8.count <= longest else { throw .notAToken("it is longer than \(longest) bytes") }
        guard !token.contains(where: \.isWhitespace) else {
            throw .notAToken("it has white space in it; give the token alone, without \"Bearer\"")
        }
        guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .notAToken("it holds characters that a header does not allow; only visible ASCII is allowed")
        }
        return token
    }

    /// Returns the token on the first line of a file or an environment variable, without surrounding white space;
    /// `nil` if that line is not a token.
    package static func firstLine(of text: String) -> String? { try? parse(String(text.prefix { !$0.isNewline })) }
}

extension StringProtocol {
    /// The text without the white space around it.
    var trimmed: String { String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed()) }
}

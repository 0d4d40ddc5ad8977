import URLs

extension WebURL {
    /// Maximum length in bytes of a URL in an answer.
    private static let longestAnswer = 2048

    /// Whether a server's answer is a URL: absolute, http or https, of at most 2048 bytes, without blanks and control
    /// characters.
    static func isAnswer(_ text: String) -> Bool {
        guard text.utf8.count <= longestAnswer, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return false }
        return WebURL(text).map { !$0.authority.text.isEmpty } ?? false
    }
}

import URLs

extension WebURL {
    /// Maximum length in bytes of a URL in an answer.
    private static let longestAnswer = 2048

    /// Whether a server's answer is a URL: absolute, http or https, of at most 2048 bytes, without blanks and characters
    /// that end a line or deceive the eye.
    static func isAnswer(_ text: String) -> Bool {
        guard text.utf8.count <= longestAnswer, text.unicodeScalars.allSatisfy(isVisible) else { return false }
        return WebURL(text).map { !$0.authority.text.isEmpty } ?? false
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}

/// Checks the URLs given by a server.
public enum WebURL {
    /// Maximum length of a URL in bytes.
    private static let longest = 2048

    /// Returns a URL without query and fragment, which may hold a token, or a portal's data about this machine.
    public static func withoutQuery(_ url: String) -> String { String(url.prefix { $0 != "?" && $0 != "#" }) }

    /// Whether a text is an absolute http or https URL of at most 2048 bytes without blanks and control characters.
    static func isOne(_ text: String) -> Bool {
        guard text.utf8.count <= longest, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return false }
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, ["http", "https"].contains(parts[0].lowercased()) else { return false }
        return !(parts[1].first.map { "/?#".contains($0) } ?? true)
    }
}

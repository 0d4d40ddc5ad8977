import Text

/// Quotes words of command lines that are shown to the user.
package enum ShellWord {
    /// Returns a text as one shell word, escaped for display and quoted if necessary (POSIX.1, 2.2.2).
    package static func text(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"):
                true
            default: "._/%+=:,-".utf8.contains(byte)
            }
        }
        guard !isPlain || text.isEmpty else { return text }
        let parts = DisplayText.escaped(text).split(separator: "'", omittingEmptySubsequences: false)
        return "'" + parts.joined(separator: "'\\''") + "'"
    }
}

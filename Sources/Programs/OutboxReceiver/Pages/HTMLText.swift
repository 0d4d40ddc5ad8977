/// Escapes text for HTML, between tags and in quoted attributes.
enum HTMLText {
    static func escaped(_ text: String) -> String {
        if text.utf8.allSatisfy(isPlain) { return text }
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped.append(contentsOf: "&amp;".unicodeScalars)
            case "<": escaped.append(contentsOf: "&lt;".unicodeScalars)
            case ">": escaped.append(contentsOf: "&gt;".unicodeScalars)
            case "\"": escaped.append(contentsOf: "&quot;".unicodeScalars)
            case "'": escaped.append(contentsOf: "&#39;".unicodeScalars)
            // HTML allows no control characters, not even as references.
            case "\u{0}"..."\u{1f}", "\u{7f}"..."\u{9f}":
                escaped.append(scalar == "\n" || scalar == "\t" ? " " : "\u{fffd}")
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    /// Whether a byte stands for itself. The control characters from 0x80 on begin with 0xc2 (RFC 3629).
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7f && byte != 0xc2 && !"&<>\"'".utf8.contains(byte)
    }
}

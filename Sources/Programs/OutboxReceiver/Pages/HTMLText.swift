/// Escapes text for HTML, between tags and in quoted attributes.
enum HTMLText {
    static func escaped(_ text: String) -> String {
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
}

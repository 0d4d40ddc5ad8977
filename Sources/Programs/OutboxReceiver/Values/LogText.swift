/// Makes text from outside safe for a log line.
enum LogText {
    private static let longest = 255
    /// In bytes. An escape is longer than its character.
    private static let longestEscaped = 1024

    /// Returns the text in quotation marks, at most 255 characters or about 1024 bytes of it. Escapes line breaks, invisible characters
    /// and direction marks as `\u{…}`.
    static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            (0x20...0x7e).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
        }
        if isPlain, text.utf8.count <= longest { return "\"\(text)\"" }
        var quoted = "\""
        for (index, scalar) in text.unicodeScalars.enumerated() {
            guard index < longest, quoted.utf8.count < longestEscaped else {
                quoted += "…"
                break
            }
            if scalar == "\"" || scalar == "\\" { quoted += "\\" }
            append(scalar, to: &quoted)
        }
        return quoted + "\""
    }

    /// Returns the text with line breaks, invisible characters and direction marks escaped as `\u{…}`.
    static func escaped(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) { return text }
        return text.unicodeScalars.reduce(into: "") { append($1, to: &$0) }
    }

    private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
            text += "\\u{\(String(scalar.value, radix: 16))}"
        default:
            text.unicodeScalars.append(scalar)
        }
    }
}

extension UploadPlan {
    /// The file's name, quoted for the log.
    var quotedName: String { LogText.quoted(path ?? fileName) }
}

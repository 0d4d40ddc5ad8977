/// Text from outside as it may stand in a line of the log.
enum LogText {
    private static let longest = 255

    /// In quotation marks; what could end the line, hide text or turn its direction is written as `\u{…}`. At most 255
    /// characters.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for (index, scalar) in text.unicodeScalars.enumerated() {
            guard index < longest else {
                quoted += "…"
                break
            }
            if scalar == "\"" || scalar == "\\" { quoted += "\\" }
            append(scalar, to: &quoted)
        }
        return quoted + "\""
    }

    /// The text with what could end the line, hide text or turn its direction written as `\u{…}`.
    static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { append($1, to: &$0) }
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
    /// The name it will have, as the log has it.
    var quotedName: String { LogText.quoted(path ?? fileName) }
}

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
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
                quoted += "\\u{\(String(scalar.value, radix: 16))}"
            default:
                if scalar == "\"" || scalar == "\\" { quoted += "\\" }
                quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

extension UploadPlan {
    /// The name it will have, as the log has it.
    var quotedName: String { LogText.quoted(path ?? fileName) }
}

import Text

/// Formats usage errors as one line, like all other errors.
package enum UsageLine {
    /// Composes the line, without a newline: the command, the error, and the command that shows the help.
    ///
    /// - Parameters:
    ///   - message: The argument parser's message. May have several lines, including a list of values.
    ///   - command: The words that name the command, starting with the program's name.
    package static func text(_ message: String, command: [String]) -> String {
        let complaint = DisplayText.escaped(withoutCapital(joined(message)))
        let help = "see `\((command + ["--help"]).joined(separator: " "))`"
        let subject = [command.prefix(1), command.dropFirst()].filter { !$0.isEmpty }.map { $0.joined(separator: " ") }
        return (subject + [ended(complaint, help)]).joined(separator: ": ")
    }

    /// Composes the line for an unknown command, with the nearest known command.
    ///
    /// - Parameters:
    ///   - word: The word in the command's place; nil if there is none.
    ///   - names: The known commands; empty if none is expected here.
    ///   - command: The preceding words, starting with the program's name.
    /// - Returns: nil if the word is not the error.
    package static func unknownCommand(_ word: String?, among names: [String], command: [String]) -> String? {
        guard let word, !word.hasPrefix("-"), !names.isEmpty, !(names + ["help"]).contains(word) else { return nil }
        let hint = Spelling.nearest(to: word, among: names + ["help"]).map { ". Did you mean '\($0)'?" } ?? ""
        return text("unknown command '\(word)'\(hint)", command: command)
    }

    /// Appends the help with a semicolon, or as a new sentence after a question mark.
    private static func ended(_ complaint: String, _ help: String) -> String {
        if complaint.isEmpty { return help }
        if complaint.hasSuffix("?") { return complaint + " S" + help.dropFirst() }
        return (complaint.hasSuffix(".") ? complaint.dropLast() : complaint[...]) + "; " + help
    }

    private static func joined(_ message: String) -> String {
        let bullet = "- "
        var result = ""
        var isInList = false
        for line in message.split(whereSeparator: \.isNewline) {
            let text = line.drop(while: \.isWhitespace)
            if text.isEmpty { continue }
            let isItem = text.hasPrefix(bullet)
            if !result.isEmpty { result += isInList && isItem ? ", " : " " }
            result += isItem ? text.dropFirst(bullet.count) : text
            isInList = isItem
        }
        return result
    }

    /// Lowercases the first letter, unless the word is all capitals.
    private static func withoutCapital(_ text: String) -> String {
        guard let second = text.dropFirst().first, second.isLowercase else { return text }
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}

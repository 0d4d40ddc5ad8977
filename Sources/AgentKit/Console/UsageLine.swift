/// Wrong usage in one line, as every other error is told.
public enum UsageLine {
    /// The line, without a newline: the command, what is wrong, and where to read how it is meant.
    ///
    /// - Parameters:
    ///   - message: what the parser of the command line says; it may have several lines, and a list of values in them.
    ///   - command: the words that name the command, the program's name first.
    public static func text(_ message: String, command: [String]) -> String {
        let complaint = DisplayText.escaped(withoutCapital(joined(message)))
        let help = "see `\((command + ["--help"]).joined(separator: " "))`"
        let subject = [command.prefix(1), command.dropFirst()].filter { !$0.isEmpty }.map { $0.joined(separator: " ") }
        return (subject + [ended(complaint, help)]).joined(separator: ": ")
    }

    /// The line for a word that should be a command and is none, with the command that was probably meant.
    ///
    /// - Parameters:
    ///   - word: what stands where a command should; nil where nothing does.
    ///   - names: the commands there are; empty where none is expected.
    ///   - command: the words before it, the program's name first.
    /// - Returns: nil where the word is not what is wrong.
    public static func unknownCommand(_ word: String?, among names: [String], command: [String]) -> String? {
        guard let word, !word.hasPrefix("-"), !names.isEmpty, !(names + ["help"]).contains(word) else { return nil }
        let hint = Spelling.nearest(to: word, among: names + ["help"]).map { ". Did you mean '\($0)'?" } ?? ""
        return text("unknown command '\(word)'\(hint)", command: command)
    }

    /// A sentence goes on after a semicolon; one that asks has ended.
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

    /// The first word as it stands within a sentence; one that is all capitals stays.
    private static func withoutCapital(_ text: String) -> String {
        guard let second = text.dropFirst().first, second.isLowercase else { return text }
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}

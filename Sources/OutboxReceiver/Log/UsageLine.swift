/// Wrong usage in one line, as every other error is told.
public enum UsageLine {
    /// What is wrong, and where to read how it is meant; without a newline.
    ///
    /// - Parameter message: what the parser of the command line says; it may have several lines.
    public static func text(_ message: String) -> String {
        let lines = message.split(whereSeparator: \.isNewline).map { $0.drop(while: \.isWhitespace) }
        var complaint = LogText.escaped(lines.filter { !$0.isEmpty }.joined(separator: " "))
        if let second = complaint.dropFirst().first, second.isLowercase {
            complaint = complaint.prefix(1).lowercased() + complaint.dropFirst()
        }
        if complaint.hasSuffix("?") { return complaint + " See `outbox-receiver --help`" }
        if complaint.hasSuffix(".") { complaint.removeLast() }
        return complaint + "; see `outbox-receiver --help`"
    }
}

/// Formats usage errors as one line, like all other errors.
public enum UsageLine {
    /// Returns the error and a hint at `--help`, without a newline.
    ///
    /// - Parameter message: The message of the command line parser; may have several lines.
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

package import AgentConfiguration
import Text
package import UploadCore

/// One line of a log.
package struct LogLine: Sendable {
    /// The time of the event.
    var time: WallTime
    /// The severity, as a level of swift-log.
    var level: Configuration.LogLevel
    /// The event.
    var message: String
    /// Details, in this order.
    var metadata: [(key: String, value: String)]

    /// Creates a line.
    package init(
        time: WallTime, level: Configuration.LogLevel, message: String, metadata: [(key: String, value: String)]
    ) {
        self.time = time
        self.level = level
        self.message = message
        self.metadata = metadata
    }

    /// The line for display: `2026-11-21T09:30:00Z info    message key=value`, without a line feed.
    package func text(hasColours: Bool) -> String {
        let look = ConsoleLook(isLive: hasColours, hasColours: hasColours, hasUnicode: true, columns: nil)
        let level = look.paint(DisplayText.padded(level.rawValue, to: 7), colour)
        let pairs = metadata.map { " " + DisplayText.escaped($0.key) + "=" + Self.quoted($0.value) }
        return "\(seconds) \(level) \(DisplayText.escaped(message))" + pairs.joined()
    }

    /// The line as one JSON object, without a line feed. A metadata key equal to a member's name gets an underscore.
    package func json() -> String {
        var text = JSONText(layout: .line)
        text.object { text in
            text.member("time", Timestamp.text(time))
            text.member("level", level.rawValue)
            text.member("message", message)
            for (key, value) in metadata {
                text.member(["time", "level", "message"].contains(key) ? key + "_" : key, value)
            }
        }
        return String(decoding: text.bytes, as: UTF8.self)
    }

    /// The severity prefix for the journal (man 3 sd-daemon).
    package var journalPrefix: String {
        switch level {
        case .critical: "<2>"
        case .error: "<3>"
        case .warning: "<4>"
        case .notice: "<5>"
        case .info: "<6>"
        case .debug, .trace: "<7>"
        }
    }

    private var seconds: String { Timestamp.text(time).prefix { $0 != "." } + "Z" }

    private var colour: Colour? {
        switch level {
        case .critical, .error: .red
        case .warning: .yellow
        case .notice: .green
        case .info: nil
        case .debug, .trace: .dim
        }
    }

    /// Quotes a value if necessary, so that its end is unambiguous.
    private static func quoted(_ value: String) -> String {
        let marks = [UInt8(ascii: "\""), UInt8(ascii: "=")]
        if !value.isEmpty, value.utf8.allSatisfy({ (0x21..<0x7F).contains($0) && !marks.contains($0) }) { return value }
        let escaped = DisplayText.escaped(value)
        let isPlain = !escaped.isEmpty && !escaped.contains { $0.isWhitespace || $0 == "\"" || $0 == "=" }
        guard !isPlain else { return escaped }
        var quoted = "\""
        for character in escaped { quoted += character == "\"" ? "\\\"" : String(character) }
        return quoted + "\""
    }
}

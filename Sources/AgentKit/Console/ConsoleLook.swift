/// What the place that is written to can show.
public struct ConsoleLook: Equatable, Sendable {
    /// Whether lines can be redrawn where they stand.
    public var isLive: Bool
    /// Whether colours are wanted.
    public var hasColours: Bool
    /// Whether more than ASCII can be drawn; names are written as they are in any case.
    public var hasUnicode: Bool
    /// Width in columns; nil where lines may be of any length.
    public var columns: Int?
    /// Height in lines.
    public var rows: Int

    /// Puts a look together.
    public init(isLive: Bool, hasColours: Bool, hasUnicode: Bool, columns: Int?, rows: Int = 24) {
        self.isLive = isLive
        self.hasColours = hasColours
        self.hasUnicode = hasUnicode
        self.columns = columns
        self.rows = rows
    }

    /// What a terminal, or whatever else output goes to, can show by the environment.
    ///
    /// - Parameters:
    ///   - terminal: the terminal's size; nil where output goes elsewhere.
    ///   - environment: TERM, NO_COLOR (no-color.org) and the locale (man 7 locale) are looked for in it.
    public init(terminal: (columns: Int, rows: Int)?, environment: [String: String]) {
        let kind = environment["TERM"] ?? ""
        isLive = terminal != nil && !kind.isEmpty && kind != "dumb"
        hasColours = isLive && (environment["NO_COLOR"] ?? "").isEmpty
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        hasUnicode = locale.lowercased().contains("utf-8") || locale.lowercased().contains("utf8")
        columns = terminal.map { max($0.columns, 1) }
        rows = max(terminal?.rows ?? 24, 2)
    }

    /// What stands for a part left out.
    var ellipsis: String { hasUnicode ? "…" : "..." }

    /// What stands between two parts of a line.
    var dash: String { hasUnicode ? "—" : "-" }

    /// The text in a colour, where colours are wanted.
    func paint(_ text: String, _ colour: Colour?) -> String {
        guard hasColours, let colour, !text.isEmpty else { return text }
        return "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
    }

    /// A line cut at the right edge of the terminal.
    func cut(_ line: String) -> String {
        guard let columns else { return line }
        var result = ""
        var room = columns
        var isInSequence = false
        for character in line {
            if character == "\u{1B}" { isInSequence = true }
            if !isInSequence {
                room -= DisplayText.width(String(character))
                if room < 0 { break }
            }
            if character == "m" { isInSequence = false }
            result.append(character)
        }
        return room < 0 && hasColours ? result + "\u{1B}[0m" : result
    }
}

/// Colours by their codes in ECMA-48 (SGR).
enum Colour: String {
    case dim = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case blue = "34"
    case cyan = "36"
}

/// The lines at the bottom of a terminal that are drawn again and again where they stand.
///
/// It only makes the text to be written; control sequences are those of ECMA-48 that every terminal of today knows.
public struct LiveBlock: Sendable {
    /// The widths of the lines that stand on the screen.
    private var drawn: [Int] = []
    private var isCursorHidden = false

    /// A block that is not on the screen yet.
    public init() {}

    /// What draws the block anew.
    ///
    /// - Parameters:
    ///   - lines: the block's lines, each no wider than the terminal and all of them fewer than its rows.
    ///   - above: lines that stay, and push the block down.
    ///   - columns: the terminal's width now: the terminal broke lines that a smaller window has no room for.
    public mutating func draw(_ lines: [String], above: [String] = [], columns: Int) -> String {
        var text = isCursorHidden ? "" : "\u{1B}[?25l"
        text += backToTop(columns: columns)
        for line in above + lines { text += line + Self.clearing(after: line, columns: columns) + "\n" }
        text += "\u{1B}[J"
        isCursorHidden = true
        drawn = lines.map(DisplayText.width)
        return text
    }

    /// What takes the block off the screen again; nothing when there is none.
    public mutating func erase(columns: Int) -> String {
        guard isCursorHidden else { return "" }
        let text = backToTop(columns: columns) + "\u{1B}[J\u{1B}[?25h"
        drawn = []
        isCursorHidden = false
        return text
    }

    /// What clears the rest of a line's row. Nothing where the line fills it: the cursor still stands on its last
    /// character then, and clearing would take that away.
    private static func clearing(after line: String, columns: Int) -> String {
        let width = DisplayText.width(line)
        return width > 0 && width % max(columns, 1) == 0 ? "" : "\u{1B}[K"
    }

    private func backToTop(columns: Int) -> String {
        let columns = max(columns, 1)
        let rows = drawn.reduce(0) { $0 + max(1, ($1 + columns - 1) / columns) }
        return rows > 0 ? "\r\u{1B}[\(rows)A" : "\r"
    }
}

import Text

/// Lines at the bottom of a terminal that are redrawn in place.
///
/// Only composes the text. The control sequences are ECMA-48 sequences that every current terminal supports.
package struct LiveBlock: Sendable {
    /// The widths of the lines on the screen.
    private var drawn: [Int] = []
    private var isCursorHidden = false

    /// Creates a block that is not yet on the screen.
    package init() {}

    /// Returns the text that redraws the block.
    ///
    /// - Parameters:
    ///   - lines: The block's lines. Each must fit the terminal's width, and all must be fewer than its rows.
    ///   - above: Lines that stay on the screen and push the block down.
    ///   - columns: The terminal's current width: if the window shrank, the terminal wrapped the old lines.
    package mutating func draw(_ lines: [String], above: [String] = [], columns: Int) -> String {
        var text = isCursorHidden ? "" : "\u{1B}[?25l"
        text += backToTop(columns: columns)
        for line in above + lines { text += line + Self.clearing(after: line, columns: columns) + "\n" }
        text += "\u{1B}[J"
        isCursorHidden = true
        drawn = lines.map(DisplayText.width)
        return text
    }

    /// Returns the text that removes the block from the screen; empty if there is none.
    package mutating func erase(columns: Int) -> String {
        guard isCursorHidden else { return "" }
        let text = backToTop(columns: columns) + "\u{1B}[J\u{1B}[?25h"
        drawn = []
        isCursorHidden = false
        return text
    }

    /// Returns the sequence that clears the rest of a line's row. Empty if the line fills its row: the cursor is then
    /// still on the last character, and clearing would erase it.
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

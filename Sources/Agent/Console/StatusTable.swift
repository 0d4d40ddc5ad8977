import Text
import LinuxSystem
import Reports

/// Files and sources as aligned lines: state, progress, size, speed, remaining time, path, and an error code or a
/// remark. The files of a source follow below, indented. The reason follows below each file that needs attention.
package struct StatusTable: Sendable {
    private let rows: [Row]
    private let look: ConsoleLook

    private struct Row {
        var colour: Colour?
        /// State, progress, size, speed, and the remaining time or the time of the next attempt.
        var cells: [String]
        var path: String
        var error = ""
        /// Text after the path. Does not count in the width of the path column.
        var remark = ""
        /// Lines below, from the path's column on, meant for copying.
        var details: [String] = []
        /// A sentence below, which may be wrapped.
        var reason = ""
    }

    /// Minimum width of the path column. On a narrower terminal, lines are cut at its edge.
    private static let narrowestPath = 12
    /// Minimum indentation of lines below a file.
    private static let leastIndentation = 4

    /// Creates a table of the selected entries.
    ///
    /// - Parameters:
    ///   - isDetailed: Whether to show the URL of each file, and each error: of files that the user named.
    ///   - now: Milliseconds since 1970, to compute when the next attempt is due; nil for the current time.
    package init(_ items: [StatusSelection.Item], look: ConsoleLook, isDetailed: Bool = false, now: Int64? = nil) {
        self.look = look
        let now = now ?? wallTimeMilliseconds()
        let row = { (file: FileEntry, indentation: String) in
            var row = Row(
                colour: file.colour, cells: Self.cells(file, now), path: indentation + file.shownPath,
                error: file.error.map { DisplayText.escaped($0.code) } ?? "")
            if isDetailed || file.attention != nil {
                row.reason = file.error.map { DisplayText.escaped($0.message) } ?? ""
            }
            if isDetailed, file.isDone, let url = file.page { row.details = [DisplayText.escaped(url)] }
            return row
        }
        rows = items.flatMap { item in
            switch item {
            case .file(let file): [row(file, "")]
            case .source(let source, let files):
                [Self.row(source, look, now)] + files.map { row($0, "  ") }
            }
        }
    }

    private static func row(_ source: SourceEntry, _ look: ConsoleLook, _ now: Int64) -> Row {
        Row(
            colour: source.colour, cells: cells(source, now), path: source.shownPath + "/",
            remark: source.remark(look), details: source.details)
    }

    private static func cells(_ entry: some SubjectEntry, _ now: Int64) -> [String] {
        [
            entry.state, Quantity.percent(entry.isFinal ? entry.progress : min(entry.shownShare, 0.99)),
            entry.knownSize.map(Quantity.size) ?? "",
            entry.speed.map(Quantity.speed) ?? "",
            entry.eta.map { Quantity.duration(seconds: $0) } ?? entry.retryText(now: now) ?? "",
        ]
    }

    /// The lines, without line feeds.
    package func lines() -> [String] {
        let widths = (0..<5).map { column in rows.map { DisplayText.width($0.cells[column]) }.max() ?? 0 }
        let pathWidth = pathWidth(beside: widths)
        let indentation = widths.reduce(2) { $0 + ($1 == 0 ? 0 : $1 + 2) }
        return rows.flatMap { row in
            [line(row, widths, pathWidth)] + row.details.map { detail($0, row.colour, indentation) }
                + reason(row.reason, row.colour, indentation)
        }
    }

    /// A line below a source. Long lines get less indentation, and are never cut, so that an address can be copied.
    private func detail(_ text: String, _ colour: Colour?, _ indentation: Int) -> String {
        blanks(before: text, indentation) + look.paint(text, colour)
    }

    /// The lines of a sentence below a file. Long sentences get less indentation, and are wrapped if they still don't
    /// fit.
    private func reason(_ text: String, _ colour: Colour?, _ indentation: Int) -> [String] {
        guard !text.isEmpty else { return [] }
        let blanks = blanks(before: text, indentation)
        let width = look.columns.map { $0 - blanks.utf8.count } ?? .max
        return DisplayText.lines(of: text, width: width).map { look.cut(blanks + look.paint($0, colour)) }
    }

    private func blanks(before text: String, _ indentation: Int) -> String {
        let room = look.columns.map { max(Self.leastIndentation, $0 - DisplayText.width(text)) } ?? indentation
        return String(repeating: " ", count: min(indentation, room))
    }

    /// The width of the longest path, limited by the terminal's width.
    private func pathWidth(beside widths: [Int]) -> Int {
        let longest = rows.map { DisplayText.width($0.path) }.max() ?? 0
        guard let columns = look.columns else { return longest }
        let errors = rows.map { DisplayText.width($0.error) }.max() ?? 0
        let others = (widths + [errors]).reduce(0) { $0 + ($1 == 0 ? 0 : $1 + 2) }
        return min(longest, max(columns - others, Self.narrowestPath))
    }

    private func line(_ row: Row, _ widths: [Int], _ pathWidth: Int) -> String {
        var cells: [String] = []
        // A column that is empty in every row is omitted.
        for (index, width) in widths.enumerated() where width > 0 {
            let cell = DisplayText.padded(row.cells[index], to: width, right: index > 0)
            cells.append(index == 0 ? look.paint(cell, row.colour) : cell)
        }
        let path = DisplayText.truncated(row.path, to: pathWidth, ellipsis: look.ellipsis)
        if !row.remark.isEmpty {
            cells += [path, row.remark]
        } else if row.error.isEmpty {
            cells.append(path)
        } else {
            cells.append(DisplayText.padded(path, to: pathWidth))
            cells.append(look.paint(row.error, row.colour))
        }
        return look.cut(cells.joined(separator: "  "))
    }
}

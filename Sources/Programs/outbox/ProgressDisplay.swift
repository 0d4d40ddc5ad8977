import Console
import Reports

/// Shows the progress of files: bars redrawn in place on a terminal, otherwise a plain line for each change.
struct ProgressDisplay {
    /// Nil if nothing is shown.
    private let output: Output?
    private let environment: [String: String]
    private var block = LiveBlock()

    init(output: Output?, environment: [String: String]) {
        self.output = output
        self.environment = environment
    }

    /// The current capabilities of the output: a window's size changes.
    var look: ConsoleLook {
        output?.look(environment)
            ?? ConsoleLook(isLive: false, hasColours: false, hasUnicode: false, columns: nil)
    }

    /// Whether to draw bars.
    var isLive: Bool { look.isLive }

    /// Shows the current progress.
    ///
    /// - Parameters:
    ///   - files: The files to draw bars for, and to sum up in the last line.
    ///   - sources: The sources to draw one bar each for, with some of their files below.
    ///   - moved: Files and sources with a new state that is not final.
    ///   - ended: Lines that stay on the screen.
    ///   - notes: Problems that need attention; shown below the bars.
    ///   - last: Composes the line below the bars.
    mutating func show(
        _ files: [FileEntry], sources: [SourceEntry] = [], moved: [any SubjectEntry], ended: [String],
        notes: [String] = [],
        last: (ConsoleLook, ProgressBoard) -> String
    ) throws {
        guard let output else { return }
        let look = look
        guard look.isLive else {
            return try output.write(lines: moved.map { $0.stateLine(look) } + ended)
        }
        let board = ProgressBoard(look: look)
        try output.write(
            block.draw(
                board.lines(files, sources: sources, notes: notes, last: last(look, board)), above: ended,
                columns: look.columns ?? 80))
    }

    /// Removes the bars from the screen.
    mutating func clear() {
        guard let output else { return }
        try? output.write(block.erase(columns: look.columns ?? 80))
    }
}

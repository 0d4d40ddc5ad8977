import AgentKit

/// Shows files on their way: bars that are redrawn in place on a terminal, plain lines at changes elsewhere.
struct ProgressDisplay {
    /// Nil where nothing is shown.
    private let output: Output?
    private let environment: [String: String]
    private var block = LiveBlock()

    init(output: Output?, environment: [String: String]) {
        self.output = output
        self.environment = environment
    }

    /// What the output can show now: a window's size changes.
    var look: ConsoleLook {
        output?.look(environment)
            ?? ConsoleLook(isLive: false, hasColours: false, hasUnicode: false, columns: nil)
    }

    /// Whether bars are drawn.
    var isLive: Bool { look.isLive }

    /// Shows where things stand.
    ///
    /// - Parameters:
    ///   - files: those that bars are drawn for, and the last line is about.
    ///   - sources: those that one bar each is drawn for, with some of their files below it.
    ///   - moved: those in a new state that is not final.
    ///   - ended: lines that stay.
    ///   - notes: what needs attention now; where bars are drawn, they stand below them.
    ///   - last: makes the line below the bars.
    mutating func show(
        _ files: [FileEntry], sources: [SourceEntry] = [], moved: [FileEntry], ended: [String], notes: [String] = [],
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

    /// Takes the bars off the screen.
    mutating func clear() {
        guard let output else { return }
        try? output.write(block.erase(columns: look.columns ?? 80))
    }
}

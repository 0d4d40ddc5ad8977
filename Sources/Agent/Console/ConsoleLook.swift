import CLinux
import Glibc
import Text

/// The display capabilities of an output.
package struct ConsoleLook: Equatable, Sendable {
    /// Whether lines can be redrawn in place.
    package var isLive: Bool
    /// Whether to use colours.
    package var hasColours: Bool
    /// Whether to draw non-ASCII characters. File names are always written unchanged.
    package var hasUnicode: Bool
    /// Width in columns; nil if lines may have any length.
    package var columns: Int?
    /// Height in lines.
    var rows: Int

    /// Creates a look.
    package init(isLive: Bool, hasColours: Bool, hasUnicode: Bool, columns: Int?, rows: Int = 24) {
        self.isLive = isLive
        self.hasColours = hasColours
        self.hasUnicode = hasUnicode
        self.columns = columns
        self.rows = rows
    }

    /// Detects the capabilities of an output from the environment.
    ///
    /// - Parameters:
    ///   - terminal: The terminal's size; nil if the output is no terminal.
    ///   - environment: Provides TERM, NO_COLOR (no-color.org) and the locale (man 7 locale).
    init(terminal: (columns: Int, rows: Int)?, environment: [String: String]) {
        let kind = environment["TERM"] ?? ""
        isLive = terminal != nil && !kind.isEmpty && kind != "dumb"
        hasColours = isLive && (environment["NO_COLOR"] ?? "").isEmpty
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        hasUnicode = locale.lowercased().contains("utf-8") || locale.lowercased().contains("utf8")
        columns = terminal.map { max($0.columns, 1) }
        rows = max(terminal?.rows ?? 24, 2)
    }

    /// Replaces an omitted part.
    var ellipsis: String { hasUnicode ? "…" : "..." }

    /// Separates two parts of a line.
    var dash: String { hasUnicode ? "—" : "-" }

    /// Returns the text in a colour if colours are used.
    package func paint(_ text: String, _ colour: Colour?) -> String {
        guard hasColours, let colour, !text.isEmpty else { return text }
        return "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
    }

    /// Cuts a line at the right edge of the terminal.
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

/// Colours with their ECMA-48 codes (SGR).
package enum Colour: String {
    case dim = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case blue = "34"
    case cyan = "36"
}

extension ConsoleLook {
    /// Detects the capabilities of an output of this process.
    ///
    /// - Parameters:
    ///   - descriptor: The output.
    ///   - environment: The environment variables.
    package init(of descriptor: Int32, environment: [String: String]) {
        self.init(terminal: Self.size(of: descriptor), environment: environment)
    }

    /// Returns the size of the terminal behind a descriptor (man 2 ioctl_tty); nil if the descriptor is no terminal.
    private static func size(of descriptor: Int32) -> (columns: Int, rows: Int)? {
        guard isatty(descriptor) == 1 else { return nil }
        var size = winsize()
        // A serial line does not know its size; assume 80 × 24.
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}

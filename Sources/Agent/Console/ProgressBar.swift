import Text

/// A progress bar.
enum ProgressBar {
    private static let eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]

    /// Draws a bar.
    ///
    /// - Parameters:
    ///   - share: 0…1; other values are clamped.
    ///   - width: Columns; the bar is empty below 3.
    static func text(_ share: Double, width: Int, look: ConsoleLook) -> String {
        guard width >= 3 else { return "" }
        let share = share.isFinite ? min(max(share, 0), 1) : 0
        return look.hasUnicode ? blocks(share, width, look) : ascii(share, width)
    }

    private static func blocks(_ share: Double, _ width: Int, _ look: ConsoleLook) -> String {
        // Rounded down: a full bar means all bytes.
        let filled = Int(share * Double(width * 8))
        let done = String(repeating: "█", count: filled / 8) + eighths[filled % 8]
        let rest = String(repeating: "░", count: width - filled / 8 - (filled % 8 == 0 ? 0 : 1))
        return look.paint(done, share < 1 ? .cyan : .green) + look.paint(rest, .dim)
    }

    private static func ascii(_ share: Double, _ width: Int) -> String {
        let room = width - 2
        let filled = Int(share * Double(room))
        let head = filled > 0 && filled < room ? String(repeating: "=", count: filled - 1) + ">" : ""
        let done = head.isEmpty ? String(repeating: "=", count: filled) : head
        return "[" + DisplayText.padded(done, to: room) + "]"
    }
}

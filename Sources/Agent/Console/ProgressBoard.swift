import LinuxSystem
package import Reports
import Text

/// The content of a live display: a bar for each active file, and one line for the total.
package struct ProgressBoard: Sendable {
    private let look: ConsoleLook
    private let columns: Int

    /// Wider lines only move the name and the numbers further apart.
    private static let widest = 160
    private static let percentWidth = 4
    private static let sizeWidth = 7
    private static let mostNotes = 3

    /// Creates a board for a terminal.
    package init(look: ConsoleLook) {
        self.look = look
        columns = min(look.columns ?? 80, Self.widest)
    }

    /// Composes the lines for all entries that are not final, active ones first, and adds the last line.
    ///
    /// - Parameters:
    ///   - files: The files. Final files are skipped.
    ///   - sources: The sources. Each gets one bar; its files in flight follow below if there is room for all.
    ///   - notes: Problems that need attention, one line each, above the last line.
    ///   - last: A line for the total.
    /// - Returns: Fewer lines than the terminal has rows. Omitted entries are counted.
    package func lines(
        _ files: [FileEntry], sources: [SourceEntry] = [], notes: [String] = [], last: String
    ) -> [String] {
        let layout = layout(files, sources)
        let rows = rows(files, sources, layout)
        let notes = notes.prefix(max(0, min(Self.mostNotes, look.rows - 4))).map { note in
            look.paint(DisplayText.truncated(DisplayText.escaped(note), to: columns, ellipsis: look.ellipsis), .yellow)
        }
        let room = max(look.rows - 2 - notes.count, 0)
        let hasRoomForAll = rows.reduce(0) { $0 + 1 + $1.below.count } <= room
        let shown = rows.count <= room ? rows : Array(rows.prefix(max(room - 1, 0)))
        var lines = shown.flatMap { row in
            [row.head] + (hasRoomForAll ? row.below.map { line($0, names: ["  " + $0.shownPath], layout) } : [])
        }
        if shown.count < rows.count, room > 0 {
            lines.append(look.paint("\(look.ellipsis) and \(rows.count - shown.count) more", .dim))
        }
        return (lines + notes + [last]).map(look.cut)
    }

    /// A line, and the files that may follow below.
    private struct Row {
        var rank: Int
        var head: String
        var below: [FileEntry]

        init(_ rank: Int, _ head: String, below: [FileEntry] = []) {
            self.rank = rank
            self.head = head
            self.below = below
        }
    }

    private func rows(_ files: [FileEntry], _ sources: [SourceEntry], _ layout: Layout) -> [Row] {
        let split = SourceGroups(sources).split(files.filter { !$0.isFinal })
        let loose = (split[""] ?? []).map { Row(Self.rank($0), line($0, names: [$0.shownPath], layout)) }
        let posts = sources.filter { !$0.isFinal }.map { source in
            let below = (split[source.id] ?? []).filter { Self.inFlight.contains($0.state) }
            return Row(Self.rank(source), line(source, names: names(of: source), layout), below: below)
        }
        return (posts + loose).enumerated()
            .sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
            .map(\.element)
    }

    /// One line for the total of all waited-for files and sources, final or not.
    package func total(_ files: [FileEntry], sources: [SourceEntry] = []) -> String {
        // The bytes of a source are the bytes of its files, and must count once.
        let loose = SourceGroups(sources).loose(files)
        let entries: [any SubjectEntry] = loose + sources
        let sizes = entries.reduce(into: (all: 0.0, sent: 0.0)) { sums, entry in
            let size = Double(entry.knownSize ?? 0)
            sums.all += size
            sums.sent += entry.isFinal ? size : size * min(max(entry.shareOnItsWay, 0), 1)
        }
        let share = sizes.all > 0 ? sizes.sent / sizes.all : 0
        var summary = FilesSummary(loose)
        summary.addPace(of: sources)
        let sent = "\(Quantity.size(UInt64(sizes.sent))) of \(Quantity.size(UInt64(sizes.all)))"
        let pace = self.pace(speed: summary.speed, seconds: summary.secondsLeft)
        let ended = "\(entries.count { $0.isFinal }) of \(entries.count)"
        return row(
            names: [ended + " through", ended], share: share, size: "", infos: pace.map { sent + "  " + $0 } + pace,
            layout(files, sources))
    }

    private func names(of source: SourceEntry) -> [String] {
        ["\(source.shownPath)/ \(source.filesDone)", source.shownPath + "/"]
    }

    /// Widths of the columns that depend on the terminal and the content.
    private struct Layout {
        var name: Int
        var bar: Int
        var info: Int
    }

    /// Gives names the width they need if available, and bars the rest.
    private func layout(_ files: [FileEntry], _ sources: [SourceEntry]) -> Layout {
        let bars = columns >= 100 ? 10...30 : columns >= 72 ? 10...12 : columns >= 50 ? 8...8 : 0...0
        let info = columns >= 72 ? 26 : 12
        let room = columns - Self.percentWidth - Self.sizeWidth - 8
        let widths =
            files.filter { !$0.isFinal }.map { DisplayText.width($0.shownPath) + ($0.source == nil ? 0 : 2) }
            + sources.filter { !$0.isFinal }.map { source in
                names(of: source).map { DisplayText.width($0) }.max() ?? 0
            }
        // The line for the total begins with `1234 of 5678 through`.
        let longest = max(widths.max() ?? 0, 20)
        let name = max(min(longest, room - info - bars.lowerBound), 10)
        let bar = max(bars.lowerBound, min(bars.upperBound, room - info - name))
        return Layout(name: name, bar: bar, info: max(info, room - name - bar))
    }

    private func line(_ entry: some SubjectEntry, names: [String], _ layout: Layout) -> String {
        var infos = pace(speed: entry.speed ?? 0, seconds: entry.eta)
        if entry.speed == nil || entry.error != nil {
            let code = entry.error?.code ?? entry.state
            let reason = code == entry.state ? "" : " (\(DisplayText.escaped(code)))"
            let retry = entry.retryText(now: wallTimeMilliseconds()).map { ", " + $0 } ?? ""
            infos = [entry.state + reason + retry, entry.state + retry, entry.state + reason, entry.state].map {
                look.paint($0, entry.colour)
            }
        }
        // An empty bar adds nothing to the state beside it.
        let share = entry.shownShare > 0 || entry.speed != nil ? entry.shownShare : nil
        return row(names: names, share: share, size: entry.knownSize.map(Quantity.size) ?? "", infos: infos, layout)
    }

    /// Speed and remaining time, from the longest form to the shortest.
    private func pace(speed: UInt64, seconds: UInt64?) -> [String] {
        let speed = speed > 0 ? Quantity.speed(speed) : ""
        guard let seconds else { return [speed] }
        let left = Quantity.duration(seconds: seconds)
        return [speed + "  " + left + " left", left + " left"]
    }

    /// Composes name, bar, per cent, size and the rest. A narrow terminal gets a shorter bar, or none.
    private func row(names: [String], share: Double?, size: String, infos: [String], _ layout: Layout) -> String {
        let name = DisplayText.truncated(fitting(names, layout.name), to: layout.name, ellipsis: look.ellipsis)
        var cells = [DisplayText.padded(name, to: layout.name)]
        if layout.bar > 0 {
            cells.append(DisplayText.padded(share.map { bar($0, layout.bar) } ?? "", to: layout.bar))
        }
        cells.append(DisplayText.padded(share.map(Quantity.percent) ?? "", to: Self.percentWidth, right: true))
        if !size.isEmpty { cells.append(DisplayText.padded(size, to: Self.sizeWidth, right: true)) }
        cells.append(fitting(infos, size.isEmpty ? layout.info + Self.sizeWidth + 2 : layout.info))
        return cells.joined(separator: "  ")
    }

    private func bar(_ share: Double, _ width: Int) -> String {
        ProgressBar.text(share, width: width, look: look)
    }

    /// Returns the first text that fits, otherwise the last.
    private func fitting(_ texts: [String], _ width: Int) -> String {
        texts.first { DisplayText.width($0) <= width } ?? texts.last ?? ""
    }

    private static let inFlight: Set<String> = ["uploading", "verifying", "hashing"]

    /// Order of display: uploading entries first, waiting ones last.
    private static func rank(_ entry: some SubjectEntry) -> Int {
        ["uploading", "verifying", "hashing", "settling", "queued", "waiting"].firstIndex(of: entry.state) ?? 6
    }
}

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

/// Derives from the agent's counts how many entries ended since the last poll. A cut list cannot tell.
package struct FinishedCount: Sendable {
    /// The number of final entries at the last poll, and of those read since; nil before the first poll.
    private var known: Int?

    /// Creates a count before the first poll.
    package init() {}

    /// Returns the number of entries that ended since the last poll, without those that were read.
    ///
    /// - Parameters:
    ///   - count: The number of all final entries.
    ///   - read: The number of ended entries that were read after the count.
    package mutating func further(_ count: Int, besides read: Int) -> Int {
        guard let known else {
            self.known = count + read
            return 0
        }
        let new = max(0, count - known)
        // An entry may have ended after the count. The next count includes this entry.
        self.known = count + max(0, read - new)
        return max(0, new - read)
    }
}

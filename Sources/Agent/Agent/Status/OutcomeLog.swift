import AgentConfiguration
import UploadCore

/// Builds the log lines for outcomes of files. Logs every completed file, and at most 20 other files
/// per minute.
struct OutcomeLog: Sendable {
    /// A log line.
    struct Line: Equatable, Sendable {
        var level: Configuration.LogLevel
        var message: String
        var metadata: [String: String]
    }

    /// Maximum number of logged files per minute that ended in another state than `done`.
    static let mostPerMinute = 20

    private var minuteBegan: MonotonicTime?
    private var count = 0

    /// Returns the log lines for a row of the journal about a file.
    mutating func lines(for row: JournalRow, now: MonotonicTime) -> [Line] {
        guard let (level, message) = Self.words(row) else { return [] }
        let line = Self.line(for: row, level, message)
        if row.outcome == .done { return [line] }
        if minuteBegan.map({ now - $0 >= .seconds(60) }) ?? true {
            minuteBegan = now
            count = 0
        }
        count += 1
        if count < Self.mostPerMinute { return [line] }
        guard count == Self.mostPerMinute else { return [] }
        let rest = "more files that fail within this minute are not logged; `outbox status` lists them"
        return [line, Line(level: .warning, message: rest, metadata: [:])]
    }

    private static func words(_ row: JournalRow) -> (Configuration.LogLevel, String)? {
        switch row.outcome {
        case .done where row.isDeduplicated: (.info, "a file is done: the server already has its content")
        case .done: (.info, "a file is done")
        case .rejected: (.notice, "a file is rejected")
        case .cancelled: (.info, "an upload is cancelled")
        case .failed: (.warning, "a file failed")
        case .idle, .trouble, .recovered: nil
        }
    }

    private static func line(for row: JournalRow, _ level: Configuration.LogLevel, _ message: String) -> Line {
        var metadata = ["path": "\(row.path)"]
        metadata["size"] = row.size.map { "\($0)" }
        metadata["url"] = row.remote.url
        metadata["code"] = row.error?.code
        metadata["reason"] = row.error?.message
        return Line(level: level, message: message, metadata: metadata)
    }
}

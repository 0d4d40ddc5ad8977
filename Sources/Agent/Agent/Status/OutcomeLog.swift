import AgentConfiguration
import Reports
import UploadCore

/// Builds the log lines for files that reached a final state. Logs every completed file, and at most 20 other files
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

    /// Returns the log lines for a file; none if the file is not in a final state.
    mutating func lines(for report: FileReport, now: MonotonicTime) -> [Line] {
        guard let level = Self.level(report.state) else { return [] }
        let line = Self.line(for: report, level)
        if report.state == .done { return [line] }
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

    private static func level(_ state: FileState) -> Configuration.LogLevel? {
        switch state {
        case .done, .cancelled: .info
        case .rejected: .notice
        case .failed: .warning
        default: nil
        }
    }

    private static func line(for report: FileReport, _ level: Configuration.LogLevel) -> Line {
        var metadata = ["path": "\(report.path)"]
        metadata["size"] = report.size.map { "\($0)" }
        metadata["url"] = report.state == .done ? report.remote.url : nil
        metadata["code"] = report.error?.code
        metadata["reason"] = report.error?.message
        let message =
            switch report.state {
            case .done where report.deduplicated: "a file is done: the server already has its content"
            case .done: "a file is done"
            case .rejected: "a file is rejected"
            case .cancelled: "an upload is cancelled"
            default: "a file failed"
            }
        return Line(level: level, message: message, metadata: metadata)
    }
}

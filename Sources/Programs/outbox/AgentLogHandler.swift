import AgentConfiguration
import Console
import Glibc
import Logging
import Synchronization
import UploadCore

/// The format of the log.
enum LogFormat: String, CaseIterable, Sendable {
    case text, json
}

/// Writes log lines to stderr. Each line is one write, so that lines of several threads don't mix.
struct LogSink: Sendable {
    private let format: LogFormat
    private let hasColours: Bool
    private let goesToJournal: Bool

    init(format: LogFormat, environment: [String: String]) {
        self.format = format
        hasColours = Output.error.look(environment).hasColours
        goesToJournal = Self.isJournal(environment["JOURNAL_STREAM"])
    }

    func write(_ line: LogLine) {
        let text = format == .json ? line.json() : line.text(hasColours: hasColours)
        Output.error.attempt(goesToJournal ? line.journalPrefix + text : text)
    }

    /// Whether stderr is the journal stream that the variable names by device and inode (man 5 systemd.exec). A shell
    /// started by a service inherits the variable too.
    private static func isJournal(_ variable: String?) -> Bool {
        var status = stat()
        guard let variable, fstat(STDERR_FILENO, &status) == 0 else { return false }
        return variable == "\(status.st_dev):\(status.st_ino)"
    }
}

/// The least severe level to log. A reload may change it.
final class LogThreshold: Sendable {
    private let level: Mutex<Logger.Level>

    init(_ level: Configuration.LogLevel) {
        self.level = Mutex(Logger.Level(level))
    }

    var current: Logger.Level { level.withLock(\.self) }

    func set(_ level: Configuration.LogLevel) {
        self.level.withLock { $0 = Logger.Level(level) }
    }
}

extension Logger.Level {
    fileprivate init(_ level: Configuration.LogLevel) {
        self = Logger.Level(rawValue: level.rawValue) ?? .info
    }
}

/// Formats log messages as lines.
struct AgentLogHandler: LogHandler {
    private let sink: LogSink
    private let threshold: LogThreshold
    private var ownLevel: Logger.Level?
    var metadata: Logger.Metadata = [:]

    /// The common threshold, unless this logger has its own level.
    var logLevel: Logger.Level {
        get { ownLevel ?? threshold.current }
        set { ownLevel = newValue }
    }

    init(sink: LogSink, threshold: LogThreshold) {
        self.sink = sink
        self.threshold = threshold
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        if let metadata = event.metadata { all.merge(metadata) { $1 } }
        if let error = event.error { all["error"] = "\(error)" }
        sink.write(
            LogLine(
                time: .now, level: Configuration.LogLevel(rawValue: event.level.rawValue) ?? .info,
                message: "\(event.message)",
                metadata: all.sorted { $0.key < $1.key }.map { ($0.key, "\($0.value)") }))
    }
}

extension WallTime {
    fileprivate static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

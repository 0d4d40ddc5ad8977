import Glibc
import Logging

/// Writes messages for the journal: with their severity in front (man 3 sd-daemon), and without the time, which the
/// journal adds.
struct JournalLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info
    private let label: String

    init(label: String) { self.label = label }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        if let metadata = event.metadata { all.merge(metadata) { $1 } }
        if let error = event.error { all["error"] = "\(error)" }
        let pairs = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value) " }.joined()
        var line = "\(Self.prefix(event.level))\(event.level) \(label): \(pairs)\(event.message)\n"
        // One write for each line, so that lines of several threads don't mix.
        line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    private static func prefix(_ level: Logger.Level) -> String {
        switch level {
        case .critical: "<2>"
        case .error: "<3>"
        case .warning: "<4>"
        case .notice: "<5>"
        case .info: "<6>"
        case .debug, .trace: "<7>"
        }
    }

    /// Whether stderr is the journal stream that the variable names by device and inode (man 5 systemd.exec). A shell
    /// started by a service inherits the variable too.
    static func isJournal(_ variable: String?) -> Bool {
        var status = stat()
        guard let variable, fstat(STDERR_FILENO, &status) == 0 else { return false }
        return variable == "\(status.st_dev):\(status.st_ino)"
    }
}

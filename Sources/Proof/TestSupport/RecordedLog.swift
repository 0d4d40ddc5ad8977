package import Logging
import Synchronization

/// A log that tests can read.
package final class RecordedLog: LogHandler {
    private let recorded = Mutex<[String]>([])

    package init() {}

    /// The messages, one line each: level, message, and the metadata sorted by key.
    package var lines: [String] { recorded.withLock(\.self) }
    /// A logger that writes here.
    package var logger: Logger { Logger(label: "test") { _ in self } }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }
    package var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    package var logLevel: Logger.Level {
        get { .trace }
        set {}
    }

    package func log(event: LogEvent) {
        let metadata = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        recorded.withLock { $0.append("\(event.level) \(event.message)\(metadata)") }
    }
}

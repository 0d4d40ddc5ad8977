import Logging
import Synchronization

/// Counts damaged records and logs the first one.
final class DamageNotes: Sendable {
    private let logger: Logger
    private let noted = Mutex(0)

    init(logger: Logger) {
        self.logger = logger
    }

    var count: Int { noted.withLock(\.self) }

    func note(_ error: LedgerError) {
        let isFirst = noted.withLock { count in
            count += 1
            return count == 1
        }
        guard isFirst else { return }
        logger.error(
            "a record of the ledger is damaged and ignored; the agent looks at the file and the server again",
            metadata: [
                "reason": "\(error)", "remedy": "check the disk, then restart the agent, which rebuilds the ledger",
            ])
    }
}

import Ledger
import Logging
import Synchronization

/// Says once when the ledger can't be written, and once when it can again, and shows it among the problems.
final class TroubleReporter: Sendable {
    private let logger: Logger
    private let uploader = Mutex<Uploader?>(nil)
    private let end: AgentEnd

    init(logger: Logger, end: AgentEnd) {
        self.logger = logger
        self.end = end
    }

    /// Names the uploader that shows problems.
    func tell(_ uploader: Uploader) {
        self.uploader.withLock { $0 = uploader }
    }

    func note(_ trouble: LedgerTrouble?) {
        if let trouble {
            logger.error(
                "the ledger can't be written; uploads wait until it can",
                metadata: ["reason": "\(trouble.message)", "remedy": "\(trouble.remedy)"])
            // Nothing can be made durable from here on.
            if trouble.kind == .damaged { end.raise(.ledgerDamaged(trouble.message)) }
        } else {
            logger.notice("the ledger can be written again")
        }
        uploader.withLock(\.self)?.run { uploader in
            uploader.problems["ledger"] = trouble?.description
            if trouble != nil { uploader.counters.commitTroubles += 1 }
        }
    }
}

import ControlAPI
import Ledger
import Logging
import Synchronization

/// Lists among the problems that the ledger, or sidecars, can't be written. Logs once when the ledger can't be written, and
/// once when it can again. While the agent starts, the control interface refuses requests with this reason.
final class TroubleReporter: Sendable {
    private let logger: Logger
    private let uploader = Mutex<Uploader?>(nil)
    private let end: AgentEnd
    private let readiness: Readiness

    init(logger: Logger, end: AgentEnd, readiness: Readiness) {
        self.logger = logger
        self.readiness = readiness
        self.end = end
    }

    /// Sets the uploader that shows the problems.
    func tell(_ uploader: Uploader) {
        self.uploader.withLock { $0 = uploader }
    }

    func note(_ trouble: LedgerTrouble?) {
        if let trouble {
            logger.error(
                "the ledger can't be written; uploads wait until it can",
                metadata: ["reason": "\(trouble.message)", "remedy": "\(trouble.remedy)"])
            // From here on, nothing can be made durable.
            if trouble.kind == .damaged { end.raise(.ledgerDamaged(trouble.message)) }
        } else {
            logger.notice("the ledger can be written again")
        }
        // A refused change does not hold the start up.
        if trouble?.kind != .refusedChange { readiness.setObstacle(trouble?.description) }
        uploader.withLock(\.self)?.run { $0.status.recordLedgerTrouble(trouble?.description) }
    }

    func note(sidecars message: String?) {
        uploader.withLock(\.self)?.run { $0.status.problems[.sidecars] = message }
    }
}

import Ledger
import Logging
import Synchronization

/// Says once when the ledger can't be written, and once when it can again, and shows it among the problems.
final class TroubleReporter: Sendable {
    private let logger: Logger
    private let uploader = Mutex<Uploader?>(nil)
    private let damaged = AsyncStream.makeStream(of: LedgerTrouble.self)

    init(logger: Logger) {
        self.logger = logger
    }

    /// Yields when the ledger turns out to be damaged while it is in use: nothing can be made durable from then on, and
    /// the next start rebuilds it.
    var damage: AsyncStream<LedgerTrouble> { damaged.stream }

    /// Names the uploader that shows problems.
    func tell(_ uploader: Uploader) {
        self.uploader.withLock { $0 = uploader }
    }

    func note(_ trouble: LedgerTrouble?) {
        if let trouble {
            logger.error(
                "the ledger can't be written; uploads wait until it can",
                metadata: ["reason": "\(trouble.message)", "remedy": "\(trouble.remedy)"])
            if trouble.kind == .damaged { damaged.continuation.yield(trouble) }
        } else {
            logger.notice("the ledger can be written again")
        }
        uploader.withLock(\.self)?.run { uploader in
            uploader.problems["ledger"] = trouble?.description
            if trouble != nil { uploader.counters.commitTroubles += 1 }
        }
    }
}

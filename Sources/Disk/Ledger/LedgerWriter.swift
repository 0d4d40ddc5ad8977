import Glibc
import LinuxSystem
import Logging
import Synchronization

/// The only writing thread: takes all queued commits, stores them in one transaction, and notifies their callers.
///
/// While one commit waits for the disk, further commits gather. If several gathered, patient ones aside, the next
/// transaction begins no sooner than ``interval`` after the last one: during a burst of files, most of a transaction's
/// cost does not depend on the number of its changes. A failed commit is retried as a whole until it succeeds or the
/// ledger is closed.
final class LedgerWriter: Sendable {
    private let environment: Environment
    private let directory: String
    private let drops: DropTable
    private let queue = CommitQueue()
    private let logger: Logger
    private let onTrouble: @Sendable (LedgerTrouble?) -> Void
    private let thread = Atomic<UInt>(0)
    /// Whether a fault of the file was reported.
    private let isFaulty = Atomic<Bool>(false)

    /// Keeps a transaction well below LMDB's limit of 131,072 dirty pages (MDB_TXN_FULL).
    private static let writesPerCommit = 20_000
    /// Minimum time between the begin of two transactions while commits gather, in nanoseconds.
    private static let interval: UInt64 = 20_000_000
    private static let pauses = [100, 200, 500, 1000, 2000, 5000]

    init(
        environment: Environment, directory: String, drops: DropTable, logger: Logger,
        onTrouble: @escaping @Sendable (LedgerTrouble?) -> Void
    ) {
        self.environment = environment
        self.directory = directory
        self.drops = drops
        self.logger = logger
        self.onTrouble = onTrouble
    }

    func start() {
        startThread(name: "ledger") { self.run() }
    }

    func add(_ commit: PendingCommit) {
        // An empty commit still waits its turn: it is durable once all earlier commits are.
        if !queue.add(commit) { commit.finished(false) }
    }

    /// Waits until everything queued is written and the thread has ended. On the writer's thread, only requests the
    /// end.
    func close() {
        queue.close()
        if thread.load(ordering: .relaxed) != UInt(pthread_self()) { queue.waitUntilFinished() }
    }

    private func run() {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        var earliest: UInt64 = 0
        while true {
            let commits = queue.take(notBefore: earliest)
            if commits.isEmpty { break }
            earliest = commits.areBurst ? monotonicNanoseconds() + Self.interval : 0
            var rest = commits[...]
            while !rest.isEmpty { rest = rest.dropFirst(store(rest)) }
        }
        // The next start may skip the inspection of a properly closed ledger, so report a fault now.
        if let fault = environment.foreignWrites.fault() { report(damage: fault) }
        environment.close()
        queue.finish()
    }

    /// Stores as many of the first commits as fit in one transaction.
    ///
    /// - Returns: number of commits handled.
    private func store(_ commits: ArraySlice<PendingCommit>) -> Int {
        var limit = Self.fitting(commits)
        var refused: Set<Int> = []
        var troubled = false
        var attempt = 0
        while true {
            let batch = commits.prefix(limit)
            switch attemptToStore(batch, without: refused) {
            case .stored:
                if troubled { onTrouble(nil) }
                for (index, commit) in zip(batch.indices, batch) { commit.finished(!refused.contains(index)) }
                return batch.count
            case .refused(let index, let error):
                refused.insert(index)
                onTrouble(LedgerTrouble(refused: error))
            case .tooLarge where limit > 1:
                limit /= 2
            case .tooLarge(let error):
                refused.insert(commits.startIndex)
                onTrouble(LedgerTrouble(refused: error))
            case .failed(let error):
                if recover(from: error) { continue }
                if !troubled { onTrouble(LedgerTrouble(error, directory: directory)) }
                troubled = true
                if pause(after: attempt) { return giveUp(commits, after: "\(error)") }
                attempt += 1
            case .faulty(let reason):
                report(damage: reason)
                troubled = true
                if pause(after: attempt) { return giveUp(commits, after: reason) }
                attempt += 1
            }
        }
    }

    /// Reports once that the ledger cannot continue.
    func report(damage reason: String) {
        if !isFaulty.exchange(true, ordering: .relaxed) { onTrouble(LedgerTrouble(damage: reason)) }
    }

    private enum Attempt {
        case stored
        /// The commit at this index can never be stored.
        case refused(Int, LMDBError)
        /// The commits change more pages than one transaction may have.
        case tooLarge(LMDBError)
        case failed(LMDBError)
        /// Another program removed or changed the file.
        case faulty(String)
    }

    /// Waits before the next attempt.
    ///
    /// - Returns: whether the ledger was closed meanwhile.
    private func pause(after attempt: Int) -> Bool {
        queue.pause(milliseconds: Self.pauses[min(attempt, Self.pauses.count - 1)])
    }

    private func attemptToStore(_ batch: ArraySlice<PendingCommit>, without refused: Set<Int>) -> Attempt {
        if let fault = environment.foreignWrites.fault() { return .faulty(fault) }
        var changes = LedgerChanges(drops: drops)
        var current = batch.startIndex
        do throws(LMDBError) {
            try environment.write { transaction throws(LMDBError) in
                for index in batch.indices where !refused.contains(index) {
                    current = index
                    for write in batch[index].writes { try changes.apply(write, in: transaction) }
                }
                try changes.finish(in: transaction)
            }
            return .stored
        } catch {
            switch error.code {
            case MDBCode.badValueSize: return .refused(current, error)
            case MDBCode.transactionFull: return .tooLarge(error)
            default: return .failed(error)
            }
        }
    }

    /// Makes the next attempt possible in cases where waiting does not help.
    ///
    /// - Returns: whether to try again at once.
    private func recover(from error: LMDBError) -> Bool {
        do throws(LMDBError) {
            switch error.code {
            case MDBCode.mapFull:
                try environment.grow()
                return true
            case MDBCode.panic:
                try environment.reopen()
                return false
            default:
                if environment.hasFailed { try environment.reopen() }
                return false
            }
        } catch {
            return false
        }
    }

    /// Ends commits as failed because the ledger is closing and the disk accepts no writes; none of them was reported
    /// durable.
    private func giveUp(_ commits: ArraySlice<PendingCommit>, after reason: String) -> Int {
        logger.error("the ledger was closed with changes that could not be written", metadata: ["error": "\(reason)"])
        for commit in commits { commit.finished(false) }
        return commits.count
    }

    private static func fitting(_ commits: ArraySlice<PendingCommit>) -> Int {
        var writes = 0
        var count = 0
        for commit in commits {
            writes += commit.writes.count
            if count > 0 && writes > writesPerCommit { break }
            count += 1
        }
        return count
    }
}

import Glibc
import UploadCore

/// Changes that become durable together, and whom to tell.
struct PendingCommit: Sendable {
    var writes: [LedgerWrite]
    /// Told true once the changes are durable, false when they never will be.
    var finished: @Sendable (Bool) -> Void
}

/// What waits to be written: any number of threads add, one takes all there is.
final class CommitQueue: @unchecked Sendable {
    // Unchecked: the variables are only touched with `mutex` held; the condition needs a stable address, which Swift's
    // own Mutex does not offer.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var waiting: [PendingCommit] = []
    private var isClosed = false
    private var isFinished = false

    init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Queues a commit.
    ///
    /// - Returns: false once the queue is closed.
    func add(_ commit: PendingCommit) -> Bool {
        locked {
            if isClosed { return false }
            waiting.append(commit)
            if waiting.count == 1 { pthread_cond_broadcast(condition) }
            return true
        }
    }

    /// Waits for commits and takes them all; empty once the queue is closed and nothing waits.
    func take() -> [PendingCommit] {
        locked {
            while waiting.isEmpty && !isClosed { pthread_cond_wait(condition, mutex) }
            defer { waiting.removeAll(keepingCapacity: true) }
            return waiting
        }
    }

    /// Sleeps before the next attempt, or until the queue is closed.
    ///
    /// - Returns: whether the queue is closed.
    func pause(milliseconds: Int) -> Bool {
        locked {
            var end = timespec()
            clock_gettime(CLOCK_MONOTONIC, &end)
            let nanoseconds = end.tv_nsec + milliseconds * 1_000_000
            end.tv_sec += nanoseconds / 1_000_000_000
            end.tv_nsec = nanoseconds % 1_000_000_000
            while !isClosed {
                if pthread_cond_timedwait(condition, mutex, &end) == ETIMEDOUT { break }
            }
            return isClosed
        }
    }

    /// Takes no more commits.
    func close() {
        locked {
            isClosed = true
            pthread_cond_broadcast(condition)
        }
    }

    /// The writer is through.
    func finish() {
        locked {
            isFinished = true
            pthread_cond_broadcast(condition)
        }
    }

    /// Waits until the writer is through.
    func waitUntilFinished() {
        locked {
            while !isFinished { pthread_cond_wait(condition, mutex) }
        }
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }
}

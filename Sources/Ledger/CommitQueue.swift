import Glibc
import LinuxSystem
import UploadCore

/// Changes that become durable together, and whom to tell.
struct PendingCommit: Sendable {
    var writes: [LedgerWrite]
    /// Told true once the changes are durable, false when they never will be.
    var finished: @Sendable (Bool) -> Void
}

/// What waits to be written: any number of threads add, one takes all there is.
final class CommitQueue: @unchecked Sendable {
    // Unchecked: the variables are only touched within `monitor.locked`.
    private let monitor = Monitor()
    private var waiting: [PendingCommit] = []
    private var isClosed = false
    private var isFinished = false

    /// Queues a commit.
    ///
    /// - Returns: false once the queue is closed.
    func add(_ commit: PendingCommit) -> Bool {
        monitor.locked {
            if isClosed { return false }
            waiting.append(commit)
            if waiting.count == 1 { monitor.broadcast() }
            return true
        }
    }

    /// Waits for commits and takes them all; empty once the queue is closed and nothing waits.
    func take() -> [PendingCommit] {
        monitor.locked {
            while waiting.isEmpty && !isClosed { monitor.wait() }
            defer { waiting.removeAll(keepingCapacity: true) }
            return waiting
        }
    }

    /// Sleeps before the next attempt, or until the queue is closed.
    ///
    /// - Returns: whether the queue is closed.
    func pause(milliseconds: Int) -> Bool {
        monitor.locked {
            var end = timespec()
            clock_gettime(CLOCK_MONOTONIC, &end)
            let nanoseconds = end.tv_nsec + milliseconds * 1_000_000
            end.tv_sec += nanoseconds / 1_000_000_000
            end.tv_nsec = nanoseconds % 1_000_000_000
            while !isClosed && !monitor.wait(until: end) {}
            return isClosed
        }
    }

    /// Takes no more commits.
    func close() {
        monitor.locked {
            isClosed = true
            monitor.broadcast()
        }
    }

    /// The writer is through.
    func finish() {
        monitor.locked {
            isFinished = true
            monitor.broadcast()
        }
    }

    /// Waits until the writer is through.
    func waitUntilFinished() {
        monitor.locked {
            while !isFinished { monitor.wait() }
        }
    }
}

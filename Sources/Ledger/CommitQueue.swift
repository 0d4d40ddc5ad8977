import LinuxSystem
import UploadCore

/// Changes that become durable together, and the completion handler.
struct PendingCommit: Sendable {
    var writes: [LedgerWrite]
    /// Called with true once the changes are durable, with false if they never will be.
    var finished: @Sendable (Bool) -> Void
}

/// The queue of pending commits: any number of threads add commits, one thread takes them all.
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

    /// Waits for commits and takes them all; returns an empty array once the queue is closed and drained.
    ///
    /// - Parameter earliest: lets commits gather until this time, nanoseconds on CLOCK_MONOTONIC.
    func take(notBefore earliest: UInt64) -> [PendingCommit] {
        monitor.locked {
            while waiting.isEmpty && !isClosed { monitor.wait() }
            while !isClosed && monotonicNanoseconds() < earliest { _ = monitor.wait(until: earliest) }
            defer { waiting.removeAll(keepingCapacity: true) }
            return waiting
        }
    }

    /// Sleeps before the next attempt, or until the queue is closed.
    ///
    /// - Returns: whether the queue is closed.
    func pause(milliseconds: Int) -> Bool {
        monitor.locked {
            let end = monotonicNanoseconds() + UInt64(milliseconds) * 1_000_000
            while !isClosed && !monitor.wait(until: end) {}
            return isClosed
        }
    }

    /// Closes the queue; later commits are refused.
    func close() {
        monitor.locked {
            isClosed = true
            monitor.broadcast()
        }
    }

    /// Marks the writer as finished.
    func finish() {
        monitor.locked {
            isFinished = true
            monitor.broadcast()
        }
    }

    /// Waits until the writer has finished.
    func waitUntilFinished() {
        monitor.locked {
            while !isFinished { monitor.wait() }
        }
    }
}

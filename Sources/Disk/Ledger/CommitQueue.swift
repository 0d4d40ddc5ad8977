import LinuxSystem
import UploadCore

/// Changes that become durable together, and the completion handler.
struct PendingCommit: Sendable {
    var writes: [LedgerWrite]
    /// Whether the changes may wait for other commits.
    var isPatient = false
    /// Called with true once the changes are durable, with false if they never will be.
    var finished: @Sendable (Bool) -> Void
}

extension [PendingCommit] {
    /// Whether several commits gathered that could not wait, so that more may follow soon.
    var areBurst: Bool { count { !$0.isPatient } > 1 }
}

/// The queue of pending commits: any number of threads add commits, one thread takes them all.
final class CommitQueue: @unchecked Sendable {
    /// How long a patient commit waits for other commits, in nanoseconds.
    static let patience: UInt64 = 500_000_000

    // Unchecked: the variables are only touched within `monitor.locked`.
    private let monitor = Monitor()
    private var waiting: [PendingCommit] = []
    /// When the waiting commits are due, in nanoseconds on CLOCK_MONOTONIC; `.max` if none waits.
    private var due = UInt64.max
    private var isClosed = false
    private var isFinished = false

    /// Queues a commit.
    ///
    /// - Returns: false once the queue is closed.
    func add(_ commit: PendingCommit) -> Bool {
        monitor.locked {
            if isClosed { return false }
            waiting.append(commit)
            let due = commit.isPatient ? monotonicNanoseconds() + Self.patience : 0
            if due < self.due {
                self.due = due
                monitor.broadcast()
            }
            return true
        }
    }

    /// Waits for commits and takes them all; returns an empty array once the queue is closed and drained. Patient commits
    /// are taken with the next other one, but wait no longer than ``patience``.
    ///
    /// - Parameter earliest: lets commits gather until this time, nanoseconds on CLOCK_MONOTONIC.
    func take(notBefore earliest: UInt64) -> [PendingCommit] {
        monitor.locked {
            while !isClosed {
                let time = max(due, earliest)
                if waiting.isEmpty {
                    monitor.wait()
                } else if monotonicNanoseconds() < time {
                    _ = monitor.wait(until: time)
                } else {
                    break
                }
            }
            defer {
                waiting.removeAll(keepingCapacity: true)
                due = .max
            }
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

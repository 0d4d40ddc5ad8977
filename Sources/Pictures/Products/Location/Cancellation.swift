import LinuxSystem
import Processes
import Synchronization

/// Connects a task with the blocking work of its thread: the cancelled task kills the process that the thread waits
/// for.
final class Cancellation: Sendable {
    private struct State {
        var isCancelled = false
        var process: LimitedProcess?
        /// When the search of a file must have ended, in nanoseconds; nil: any time.
        var deadline: UInt64?
    }

    private let state = Mutex(State())

    /// Whether the task was cancelled.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Kills the process, and every later one.
    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            state.process?.kill()
        }
    }

    /// Names the process that the work waits for; nil: none.
    func watch(_ process: LimitedProcess?) {
        state.withLock { state in
            state.process = process
            if state.isCancelled { process?.kill() }
        }
    }

    /// Performs a search that must not take longer, since a crafted file may ask for the square of its size.
    ///
    /// - Throws: `tookTooLong` from ``check()`` within, after so many seconds.
    func limit<Value>(
        to seconds: Int, _ search: () throws(ProductFailure) -> Value
    ) throws(ProductFailure) -> Value {
        state.withLock { $0.deadline = monotonicNanoseconds() + UInt64(seconds) * 1_000_000_000 }
        defer { state.withLock { $0.deadline = nil } }
        return try search()
    }

    /// Throws `cancelled` after the task was cancelled, and `tookTooLong` after the deadline.
    func check() throws(ProductFailure) {
        let (isCancelled, deadline) = state.withLock { ($0.isCancelled, $0.deadline) }
        if isCancelled { throw .cancelled }
        if let deadline, monotonicNanoseconds() > deadline {
            throw .tookTooLong("searching the file for positions took too long")
        }
    }
}

import Processes
import Synchronization

/// Connects a task with the blocking work of its thread: the cancelled task kills the process that the thread waits
/// for.
final class Cancellation: Sendable {
    private struct State {
        var isCancelled = false
        var process: LimitedProcess?
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

    /// Throws `cancelled` after the task was cancelled.
    func check() throws(ProductFailure) {
        if isCancelled { throw .cancelled }
    }
}

import CCurl
import Synchronization
import URLs

/// A request on its way to the transport's thread.
struct Submission: Sendable {
    let request: TransportRequest
    let url: WebURL
    let ticket: Ticket
    let continuation: CheckedContinuation<Result<HTTPReply, TransportError>, Never>
}

/// Identifies one call of `send`, by object identity.
final class Ticket: Sendable {
    private let cancelled = Atomic(false)

    /// Set before the command is posted, so that a cancellation overtaking its own request is not lost.
    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    func cancel() { cancelled.store(true, ordering: .releasing) }
}

/// Commands from other threads to the transport's thread.
///
/// Also the executor of tasks that send requests, see ``HTTPTransport/executor``.
final class TransferInbox: TaskExecutor {
    enum Command: Sendable {
        case start(Submission)
        case cancel(Ticket)
        /// Runs a task until it suspends or ends.
        case run(UnownedJob)
        case setBandwidthLimit(UInt64)
        case setTimeouts(stall: Duration, reply: Duration)
        case networkChanged(NetworkNews)
        case stop
    }

    private struct State {
        var commands: [Command] = []
        /// Whether the transport's thread sleeps, or is about to. Commands that find it awake need no system call.
        var isAsleep = false
        var isClosed = false
    }

    /// curl_multi_wakeup is the only function of a multi handle that any thread may call (man 3 curl_multi_wakeup);
    /// only the transport's thread calls the others.
    nonisolated(unsafe) let multi: UnsafeMutableRawPointer
    private let state = Mutex(State())

    /// Takes ownership of a multi handle, until ``close()``.
    init(multi: UnsafeMutableRawPointer) {
        self.multi = multi
    }

    /// - Returns: false if the inbox is closed; the command is then dropped.
    func post(_ command: Command) -> Bool {
        state.withLock { state in
            if state.isClosed { return false }
            state.commands.append(command)
            if state.isAsleep {
                state.isAsleep = false
                // Under the lock, because the handle is freed once the inbox is closed.
                curl_multi_wakeup(multi)
            }
            return true
        }
    }

    /// Runs a task on the transport's thread (TaskExecutor).
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // A task outlives the thread if it waits for something else than a reply.
        if !post(.run(job)) { globalConcurrentExecutor.enqueue(job) }
    }

    /// Called by the transport's thread before it sleeps.
    ///
    /// - Returns: false if there are commands to obey first. Otherwise the next command wakes the thread.
    func mayThreadSleep() -> Bool {
        state.withLock { state in
            state.isAsleep = state.commands.isEmpty
            return state.isAsleep
        }
    }

    /// Removes and returns the posted commands, oldest first.
    func take() -> [Command] {
        state.withLock { state in
            state.isAsleep = false
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Ends all use of the multi handle by other threads.
    ///
    /// - Returns: the remaining commands.
    func close() -> [Command] {
        state.withLock { state in
            state.isClosed = true
            defer { state.commands = [] }
            return state.commands
        }
    }
}

import CLinux
import Glibc
import Synchronization

/// A thread that runs work when its time has come, and sleeps until then.
public final class Timers: @unchecked Sendable {
    // Unchecked: `waiting` is only touched within `monitor.locked`.
    private let monitor = Monitor()
    private var waiting = DeadlineHeap<UInt64, @Sendable () -> Void>()
    private let timer: Int32

    /// The timers of this process.
    public static let shared = Timers()

    private init() {
        timer = outbox_boot_time_timer()
        // Like a thread that cannot be started: the agent cannot work without, and the reason must be visible.
        precondition(timer >= 0, "cannot create a timer: \(String(cString: strerror(errno)))")
        startThread(name: "timers") { [self] in while true { waitForTimer() } }
    }

    /// Suspends the calling task. Unlike `Task.sleep`, this does not start Dispatch, which wakes an idle process every
    /// second (`TaskPool`).
    ///
    /// - Parameter pause: counts the time that the machine sleeps.
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    public static func sleep(for pause: Duration) async throws {
        let sleeper = Sleeper()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if sleeper.begin(continuation) { shared.run(after: pause) { sleeper.wake() } }
            }
        } onCancel: {
            sleeper.wake(throwing: CancellationError())
        }
    }

    /// Runs short work on the timers' thread once some time has passed.
    public func run(after pause: Duration, _ work: @escaping @Sendable () -> Void) {
        // No pause exceeds 100 years.
        let pause = min(max(pause, .zero), .seconds(100 * 365 * 86_400)).components
        let nanoseconds = UInt64(pause.seconds * 1_000_000_000 + pause.attoseconds / 1_000_000_000)
        let due = bootTimeNanoseconds() + nanoseconds
        monitor.locked {
            let isFirst = waiting.first.map { due < $0 } ?? true
            waiting.push(work, at: due)
            if isFirst { outbox_set_timer(timer, nanoseconds) }
        }
    }

    private func waitForTimer() {
        var count: UInt64 = 0
        _ = read(timer, &count, MemoryLayout.size(ofValue: count))
        let due = monitor.locked {
            var due: [@Sendable () -> Void] = []
            let now = bootTimeNanoseconds()
            while let (_, work) = waiting.pop(until: now) { due.append(work) }
            if let next = waiting.first { outbox_set_timer(timer, next - min(now, next)) }
            return due
        }
        for work in due { work() }
    }
}

/// A task that sleeps until its time has come or it is cancelled, in either order with `begin`.
private final class Sleeper: Sendable {
    private enum State {
        case awake
        case asleep(CheckedContinuation<Void, any Error>)
        case cancelled(any Error)
        case over
    }

    private let state = Mutex(State.awake)

    /// - Returns: whether the sleep has begun. False if the task is cancelled; it goes on at once then.
    func begin(_ continuation: CheckedContinuation<Void, any Error>) -> Bool {
        let error: (any Error)? = state.withLock { state in
            if case .cancelled(let error) = state {
                state = .over
                return error
            }
            state = .asleep(continuation)
            return nil
        }
        if let error { continuation.resume(throwing: error) }
        return error == nil
    }

    func wake(throwing error: (any Error)? = nil) {
        let sleeping: CheckedContinuation<Void, any Error>? = state.withLock { state in
            switch state {
            case .asleep(let continuation):
                state = .over
                return continuation
            case .awake:
                if let error { state = .cancelled(error) }
                return nil
            case .cancelled, .over: return nil
            }
        }
        if let error { sleeping?.resume(throwing: error) } else { sleeping?.resume() }
    }
}

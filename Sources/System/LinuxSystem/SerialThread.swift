import CLinux
import Glibc

/// A dedicated thread that runs jobs one after the other: the executor of actors whose work blocks.
///
/// LMDB, hashing and file reads must not run on the cooperative pool, which has two threads on a small machine. An
/// actor uses a `SerialThread` by returning its `asUnownedSerialExecutor()` from `unownedExecutor`. The thread sleeps
/// while no job waits and ends with the last reference.
public final class SerialThread: SerialExecutor, TaskExecutor {
    private let queue: JobQueue

    /// Starts the thread.
    ///
    /// - Parameter name: shown by `top -H` and in stack traces; the kernel keeps the first 15 bytes.
    public init(name: String) {
        let queue = JobQueue()
        self.queue = queue
        startThread(name: name) { queue.runUntilClosed() }
    }

    deinit {
        queue.close()
    }

    /// Queues a job (SerialExecutor).
    public func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        let executor = asUnownedSerialExecutor()
        queue.add { unowned.runSynchronously(on: executor) }
    }

    /// Checks that the caller runs on this thread, for `assumeIsolated` (SerialExecutor).
    public func checkIsolated() {
        precondition(queue.isOnConsumerThread, "not on the thread of this executor")
    }

    /// Queues a plain closure behind the waiting jobs.
    public func run(_ work: @escaping @Sendable () -> Void) {
        queue.add(work)
    }

    /// Runs two closures at once, `side` on this thread and `main` on the caller's. Returns when both have ended, and blocks
    /// until then.
    public func run(_ side: @Sendable () -> Void, beside main: () -> Void) {
        let end = Monitor()
        // Only touched within `end.locked`.
        nonisolated(unsafe) var hasEnded = false
        withoutActuallyEscaping(side) { side in
            // The thread may hold its job for longer than this call takes, and `side` must not escape.
            let loan = Loan(side)
            queue.add {
                loan.runAndRelease()
                end.locked {
                    hasEnded = true
                    end.signal()
                }
            }
            main()
            end.locked { while !hasEnded { end.wait() } }
        }
    }

    /// Queues a plain closure before all waiting jobs, but behind earlier closures of `runFirst`.
    public func runFirst(_ work: @escaping @Sendable () -> Void) {
        queue.addFirst(work)
    }
}

/// A closure that is released as soon as it ran.
private final class Loan: @unchecked Sendable {
    // Unchecked: one thread creates the loan, and one runs it later.
    private var work: (@Sendable () -> Void)?

    init(_ work: @escaping @Sendable () -> Void) { self.work = work }

    func runAndRelease() {
        work?()
        work = nil
    }
}

/// A queue of closures with one consumer that sleeps while the queue is empty.
final class JobQueue: @unchecked Sendable {
    // Unchecked: the variables are only touched within `monitor.locked`.
    private let monitor = Monitor()
    private var jobs: [@Sendable () -> Void] = []
    private var urgent: [@Sendable () -> Void] = []
    private var closed = false
    private var consumer: pthread_t?

    func add(_ job: @escaping @Sendable () -> Void) {
        monitor.locked {
            jobs.append(job)
            if jobs.count == 1 { monitor.signal() }
        }
    }

    func addFirst(_ job: @escaping @Sendable () -> Void) {
        monitor.locked {
            urgent.append(job)
            monitor.signal()
        }
    }

    func close() {
        monitor.locked {
            closed = true
            monitor.signal()
        }
    }

    var isOnConsumerThread: Bool {
        monitor.locked { consumer.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// Runs jobs in order; returns once the queue is closed and empty.
    func runUntilClosed() {
        monitor.locked { consumer = pthread_self() }
        var batch: [@Sendable () -> Void] = []
        while true {
            let isOver = monitor.locked {
                while jobs.isEmpty && urgent.isEmpty && !closed { monitor.wait() }
                swap(&batch, &jobs)
                return batch.isEmpty && urgent.isEmpty
            }
            if isOver { return }
            runUrgent()
            for job in batch {
                job()
                runUrgent()
            }
            batch.removeAll(keepingCapacity: true)
        }
    }

    private func runUrgent() {
        while true {
            let first = monitor.locked { urgent.isEmpty ? nil : urgent.removeFirst() }
            guard let first else { return }
            first()
        }
    }
}

/// Starts a detached thread with all signals blocked, so that signals reach only the threads waiting for them.
///
/// - Parameters:
///   - name: shown by `top -H`; truncated to the kernel's limit of 15 bytes.
///   - body: the thread's work; the thread ends when `body` returns.
public func startThread(name: String, _ body: @escaping @Sendable () -> Void) {
    final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void
        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
    let start = Unmanaged.passRetained(Start(name: String(name.utf8.prefix(15)) ?? "outbox", body: body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let failure = pthread_create(
        &thread, &attributes,
        { argument in
            guard let argument else { return nil }
            var everySignal = sigset_t()
            sigfillset(&everySignal)
            pthread_sigmask(SIG_SETMASK, &everySignal, nil)
            let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
            outbox_name_thread(start.name)
            start.body()
            return nil
        }, start.toOpaque())
    // No thread available at start-up: the agent cannot work, and the reason must be visible.
    precondition(failure == 0, "cannot start thread \(name): \(String(cString: strerror(failure)))")
}

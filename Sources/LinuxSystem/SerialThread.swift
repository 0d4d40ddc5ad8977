import CLinux
import Glibc
import Synchronization

/// A thread of its own that runs jobs one after the other: the executor of actors whose work blocks.
///
/// LMDB, hashing and file reads must not run on the cooperative pool, which has two threads on a small machine. An
/// actor gets a thread by returning `asUnownedSerialExecutor()` of one of these from `unownedExecutor`. The thread
/// sleeps while there is nothing to do and ends when the last reference is gone.
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

    /// Whether the caller runs on this thread, as `assumeIsolated` needs to know (SerialExecutor).
    public func checkIsolated() {
        precondition(queue.isOnConsumerThread, "not on the thread of this executor")
    }

    /// Queues a plain closure behind the jobs that wait already.
    public func run(_ work: @escaping @Sendable () -> Void) {
        queue.add(work)
    }

    /// Queues a plain closure before all jobs that wait already, behind other closures of this kind.
    public func runFirst(_ work: @escaping @Sendable () -> Void) {
        queue.addFirst(work)
    }
}

/// A queue of closures with one consumer that sleeps while it is empty.
final class JobQueue: @unchecked Sendable {
    // Unchecked: `jobs`, `urgent` and `closed` are only touched with `mutex` held; the condition needs a stable address, which
    // Swift's own Mutex does not offer.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var jobs: [@Sendable () -> Void] = []
    private var urgent: [@Sendable () -> Void] = []
    private var closed = false
    private var consumer: pthread_t?

    init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func add(_ job: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        jobs.append(job)
        if jobs.count == 1 { pthread_cond_signal(condition) }
        pthread_mutex_unlock(mutex)
    }

    func addFirst(_ job: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        urgent.append(job)
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    func close() {
        pthread_mutex_lock(mutex)
        closed = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    var isOnConsumerThread: Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return consumer.map { pthread_equal($0, pthread_self()) != 0 } ?? false
    }

    /// Runs jobs in order; returns once the queue is closed and empty.
    func runUntilClosed() {
        pthread_mutex_lock(mutex)
        consumer = pthread_self()
        pthread_mutex_unlock(mutex)
        var batch: [@Sendable () -> Void] = []
        while true {
            pthread_mutex_lock(mutex)
            while jobs.isEmpty && urgent.isEmpty && !closed { pthread_cond_wait(condition, mutex) }
            let isOver = jobs.isEmpty && urgent.isEmpty
            swap(&batch, &jobs)
            pthread_mutex_unlock(mutex)
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
            pthread_mutex_lock(mutex)
            let first = urgent.isEmpty ? nil : urgent.removeFirst()
            pthread_mutex_unlock(mutex)
            guard let first else { return }
            first()
        }
    }
}

/// Starts a detached thread with all signals blocked, so that signals reach only the threads that wait for them.
///
/// - Parameters:
///   - name: shown by `top -H`; cut to the 15 bytes the kernel keeps.
///   - body: the thread's work; the thread ends when it returns.
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
    // Out of threads at start-up: nothing can go on, and the reason must be seen.
    precondition(failure == 0, "cannot start thread \(name): \(String(cString: strerror(failure)))")
}

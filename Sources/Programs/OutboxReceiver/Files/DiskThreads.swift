import Glibc

/// A task executor with threads of its own. A task on these threads may block in a file system call without stopping
/// the shared cooperative pool.
///
/// The whole server runs under such an executor as its preference, so a request writes the received bytes without a
/// hop between threads.
final class DiskThreads: TaskExecutor {
    private let queue = JobQueue()

    /// - Parameter count: How many tasks may block at the same time.
    init(count: Int) {
        for _ in 0..<count { Self.start(queue) }
    }

    deinit {
        queue.close()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        queue.push(UnownedJob(job), for: asUnownedTaskExecutor())
    }

    private static func start(_ queue: JobQueue) {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(queue)
        let result = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<JobQueue>.fromOpaque(context).takeRetainedValue().work()
                return nil
            }, context.toOpaque())
        guard result == 0 else { return context.release() }
        pthread_detach(thread)
    }
}

/// Hands jobs to idle threads in order of arrival.
///
/// `@unchecked Sendable`: `mutex` guards all properties below it.
private final class JobQueue: @unchecked Sendable {
    private struct Item {
        let job: UnownedJob
        let executor: UnownedTaskExecutor
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let filled = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var items: [Item] = []
    private var next = 0
    private var isClosed = false

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(filled, nil)
    }

    deinit {
        pthread_cond_destroy(filled)
        pthread_mutex_destroy(mutex)
        filled.deallocate()
        mutex.deallocate()
    }

    func push(_ job: UnownedJob, for executor: UnownedTaskExecutor) {
        pthread_mutex_lock(mutex)
        items.append(Item(job: job, executor: executor))
        pthread_mutex_unlock(mutex)
        pthread_cond_signal(filled)
    }

    func close() {
        pthread_mutex_lock(mutex)
        isClosed = true
        pthread_mutex_unlock(mutex)
        pthread_cond_broadcast(filled)
    }

    func work() {
        while let item = pop() {
            item.job.runSynchronously(on: item.executor)
        }
    }

    private func pop() -> Item? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while next == items.count {
            if isClosed { return nil }
            pthread_cond_wait(filled, mutex)
        }
        let item = items[next]
        next += 1
        if next == items.count {
            items.removeAll(keepingCapacity: true)
            next = 0
        } else if next == 1024 {
            items.removeFirst(next)
            next = 0
        }
        return item
    }
}

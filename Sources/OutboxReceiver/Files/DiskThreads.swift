import Glibc
import Synchronization

/// Threads of this program's own that tasks run on instead of the shared cooperative pool, so that a task may block
/// in a file system call without stopping the others.
///
/// The whole server runs under one of these as its task executor preference: a request needs no extra hop between
/// threads to write what it received.
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

/// Jobs in the order they came, handed to whichever thread is free.
///
/// `@unchecked Sendable`: everything below the mutex is touched only while it is held.
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

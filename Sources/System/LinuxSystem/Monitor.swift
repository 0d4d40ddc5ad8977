import CLinux
import Glibc

/// A lock whose holders can wait for a condition (man 3 pthread_cond_wait), unlike Swift's own `Mutex`.
public final class Monitor: @unchecked Sendable {
    // Unchecked: the pointers never change, and POSIX allows any thread to use the lock and the condition. A
    // condition needs a stable address.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// Creates an unlocked monitor.
    public init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` with the lock held.
    public func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// Releases the lock until another thread signals. The caller holds the lock, and must check its condition again.
    public func wait() {
        pthread_cond_wait(condition, mutex)
    }

    /// Releases the lock until another thread signals or the deadline passes. The caller holds the lock.
    ///
    /// - Parameter deadline: nanoseconds on CLOCK_MONOTONIC.
    /// - Returns: whether the deadline has passed.
    public func wait(until deadline: UInt64) -> Bool {
        var deadline = timespec(
            tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        return pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT
    }

    /// Wakes one waiting thread.
    public func signal() { pthread_cond_signal(condition) }

    /// Wakes all waiting threads.
    public func broadcast() { pthread_cond_broadcast(condition) }
}

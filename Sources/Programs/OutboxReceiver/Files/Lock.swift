import Glibc

/// A lock that guards no value, for work that takes long: a waiting thread sleeps.
///
/// A `Mutex` uses FUTEX_LOCK_PI (man 2 futex), for which the kernel spins while the holder runs. That took a twentieth of
/// the receiver's CPU while a large file arrived.
final class Lock: @unchecked Sendable {
    // Unchecked: threads use the mutex only through pthread functions, at an address that stays the same.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        mutex.initialize(to: pthread_mutex_t())
        // Without attributes, these functions can't fail for a mutex in use (man 3 pthread_mutex_init).
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func locked<Result, Failure: Error>(
        _ body: () throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }
}

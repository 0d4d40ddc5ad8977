import Synchronization

/// A lock that guards no value.
///
/// A class of its own, because Swift 6.3 crashes while it optimizes a throwing initializer of a class with a `Mutex(())`.
final class Lock: Sendable {
    private let mutex = Mutex(())

    func locked<Result>(_ body: () throws -> sending Result) rethrows -> sending Result {
        try mutex.withLock { _ in try body() }
    }
}

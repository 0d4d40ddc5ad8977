import Synchronization

/// Bounds work that may hang, such as a share whose server is gone or a silent name server.
package enum TimeLimit {
    /// Waits for work, at most for `limit`.
    ///
    /// - Returns: nil if the time ran out first. The work then continues in the background.
    package static func wait<Value: Sendable>(
        _ limit: Duration, for work: @escaping @Sendable () async -> Value
    ) async -> Value? {
        await withCheckedContinuation { continuation in
            let first = First(continuation)
            let timer = Task {
                try? await Timers.sleep(for: limit)
                first.resume(returning: nil)
            }
            Task {
                first.resume(returning: await work())
                timer.cancel()
            }
        }
    }

    /// Runs blocking work on a thread of its own, and waits at most for `limit`.
    ///
    /// - Returns: nil if the time ran out first. The thread is then abandoned.
    package static func run<Value: Sendable>(
        _ name: String, _ limit: Duration, _ work: @escaping @Sendable () -> Value
    ) async -> Value? {
        await wait(limit) {
            await withCheckedContinuation { continuation in
                startThread(name: name) { continuation.resume(returning: work()) }
            }
        }
    }
}

/// A continuation that accepts only the first of several answers.
private final class First<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value?, Never>?>

    init(_ continuation: CheckedContinuation<Value?, Never>) {
        self.continuation = Mutex(continuation)
    }

    func resume(returning value: Value?) {
        let taken = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        taken?.resume(returning: value)
    }
}

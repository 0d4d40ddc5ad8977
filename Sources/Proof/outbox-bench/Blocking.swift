import Synchronization

/// Blocks this thread until asynchronous work ends. The thread must have no other work.
func blocking<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) throws -> Value {
    let result = Mutex<Result<Value, any Error>?>(nil)
    let done = Countdown(1)
    Task {
        do {
            let value = try await work()
            result.withLock { $0 = .success(value) }
        } catch {
            result.withLock { $0 = .failure(error) }
        }
        done.step()
    }
    done.wait()
    guard let outcome = result.withLock({ $0 }) else { throw Failure("the task ended without a result") }
    return try outcome.get()
}

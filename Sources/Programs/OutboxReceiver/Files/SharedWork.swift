import Synchronization

/// Does work about a key once for all who ask for it at the same time.
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let tasks = Mutex<[Key: Task<Value, any Error>]>([:])

    /// Returns the result of the work under way for the key, or begins the work.
    func value(for key: Key, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = tasks.withLock { tasks in
            if let task = tasks[key] { return task }
            let task = Task {
                defer { self.tasks.withLock { $0[key] = nil } }
                return try await work()
            }
            tasks[key] = task
            return task
        }
        return try await task.value
    }
}

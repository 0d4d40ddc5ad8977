import LinuxSystem
import Synchronization

/// Coalesces requests: work runs once for all callers of a key, and only while a caller wants its result.
///
/// A caller whose patience ended may ask again later, so the work continues. A caller whose task is cancelled
/// gives up. When all callers gave up, the work is cancelled.
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Job {
        let number: UInt64
        let task: Task<Value, Never>
        var waiting: Set<UInt64> = []
        /// Whether a caller stopped waiting and may ask again.
        var isPromised = false
    }

    private struct State {
        var lastNumber: UInt64 = 0
        var jobs: [Key: Job] = [:]

        mutating func number() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }
    }

    private enum Place {
        case own(Task<Value, Never>, waiter: UInt64)
        /// The limit of concurrent work is reached. Carries one of the running tasks.
        case taken(Task<Value, Never>)
    }

    private let mostAtOnce: Int
    private let work: @Sendable (Key) async -> Value
    private let state = Mutex(State())

    /// - Parameters:
    ///   - mostAtOnce: Maximum number of keys in progress; further callers wait.
    ///   - work: Work for a key. Must end soon after its task is cancelled.
    init(mostAtOnce: Int, work: @escaping @Sendable (Key) async -> Value) {
        self.mostAtOnce = mostAtOnce
        self.work = work
    }

    /// Returns the result of the work. Returns nil if `patience` ended first; work that has begun continues.
    func value(for key: Key, patience: Duration) async -> Value? {
        let end = ContinuousClock.now + patience
        while true {
            switch place(for: key) {
            case .own(let task, let waiter):
                let value = await withTaskCancellationHandler {
                    await TimeLimit.wait(end - .now) { await task.value }
                } onCancel: {
                    leave(key, waiter)
                }
                if value == nil { leave(key, waiter, comesBack: true) }
                return value
            case .taken(let other):
                guard await TimeLimit.wait(end - .now, for: { await other.value }) != nil else { return nil }
            }
        }
    }

    /// Cancels all work in progress.
    func stop() {
        for job in state.withLock({ Array($0.jobs.values) }) { job.task.cancel() }
    }

    /// Number of callers waiting for a key.
    func waiting(for key: Key) -> Int {
        state.withLock { $0.jobs[key]?.waiting.count ?? 0 }
    }

    private func place(for key: Key) -> Place {
        state.withLock { state in
            let waiter = state.number()
            if let job = state.jobs[key] {
                state.jobs[key]?.waiting.insert(waiter)
                return .own(job.task, waiter: waiter)
            }
            if state.jobs.count >= mostAtOnce, let other = state.jobs.values.randomElement() {
                return .taken(other.task)
            }
            let number = state.number()
            let task = Task { [work, weak self] in
                let value = await work(key)
                self?.end(key, number)
                return value
            }
            state.jobs[key] = Job(number: number, task: task, waiting: [waiter])
            return .own(task, waiter: waiter)
        }
    }

    private func end(_ key: Key, _ number: UInt64) {
        state.withLock { state in
            // Cancelled work may end after new work began for the same key.
            if state.jobs[key]?.number == number { state.jobs[key] = nil }
        }
    }

    private func leave(_ key: Key, _ waiter: UInt64, comesBack: Bool = false) {
        let unwanted = state.withLock { state -> Task<Value, Never>? in
            guard var job = state.jobs[key], job.waiting.remove(waiter) != nil else { return nil }
            if comesBack { job.isPromised = true }
            let isUnwanted = job.waiting.isEmpty && !job.isPromised
            state.jobs[key] = isUnwanted ? nil : job
            return isUnwanted ? job.task : nil
        }
        unwanted?.cancel()
    }
}

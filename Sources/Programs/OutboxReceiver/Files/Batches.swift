import Glibc
import Synchronization

/// Groups work that costs less per batch than per item. Items added while a batch runs make up the next batch.
///
/// Batches run one after another, on a thread of their own.
final class Batches<Item: Sendable>: Sendable {
    private struct State {
        var items: [Item] = []
        /// The number of the batch that takes the current `items`.
        var number = 1
        var waiting: [(batch: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var done = 0
        var isRunning = false
    }

    private let state = Mutex(State())
    private let thread = DiskThreads(count: 1)

    /// - Parameter body: Processes a batch; may block. Every caller must pass the same closure.
    /// - Returns: The number of the batch that takes the item.
    @discardableResult
    func add(_ item: Item, _ body: @escaping @Sendable ([Item]) -> Void) -> Int {
        let (number, isIdle) = state.withLock { state in
            state.items.append(item)
            defer { state.isRunning = true }
            return (state.number, !state.isRunning)
        }
        if isIdle {
            Task(executorPreference: thread) {
                // Lets threads that are about to add items do so first.
                sched_yield()
                while let items = self.next() {
                    body(items)
                    self.finished()
                }
            }
        }
        return number
    }

    /// Waits until the batch with this number has finished.
    func wait(for number: Int) async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.done < number { state.waiting.append((number, continuation)) }
                return state.done >= number
            }
            if isDone { continuation.resume() }
        }
    }

    /// The number of items that no batch has taken yet.
    var count: Int { state.withLock { $0.items.count } }

    /// Waits until all items so far are processed.
    func waitForAll() async {
        await wait(for: state.withLock { $0.items.isEmpty ? $0.number - 1 : $0.number })
    }

    /// Returns the next batch. Returns nil and marks the queue as idle if no items are waiting.
    private func next() -> [Item]? {
        state.withLock { state in
            guard !state.items.isEmpty else {
                state.isRunning = false
                return nil
            }
            defer {
                state.items = []
                state.number += 1
            }
            return state.items
        }
    }

    private func finished() {
        let ready = state.withLock { state in
            state.done = state.number - 1
            let ready = state.waiting.filter { $0.batch <= state.done }
            state.waiting.removeAll { $0.batch <= state.done }
            return ready.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }
}

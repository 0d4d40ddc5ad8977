import Glibc
import Synchronization

/// Groups work that costs less per batch than per item. Items added while a batch runs make up the next batches, in
/// which all owners have the same share: nobody's many items hold up another's few.
///
/// Batches run one after another, on a thread of their own.
final class Batches<Item: Sendable>: Sendable {
    /// An item's place in the order of its owner.
    struct Ticket: Sendable {
        fileprivate let owner: String
        fileprivate let number: UInt64
    }

    /// The items of an owner, in order.
    private struct Lane {
        /// The items that no batch has taken, in reverse order.
        var waiting: [(number: UInt64, item: Item)] = []
        /// Those that came since `waiting` was filled, in order.
        var added: [(number: UInt64, item: Item)] = []
        /// The number of the first item in the present batch.
        var running: UInt64?

        /// The first item that is not processed.
        var first: UInt64 { running ?? waiting.last?.number ?? added.first?.number ?? .max }

        var hasItems: Bool { !waiting.isEmpty || !added.isEmpty }

        mutating func next() -> (number: UInt64, item: Item)? {
            if waiting.isEmpty {
                waiting = added.reversed()
                added = []
            }
            return waiting.popLast()
        }
    }

    private struct State {
        var lanes: [String: Lane] = [:]
        /// The owners of waiting items. The first has its turn next.
        var turns: [String] = []
        var count = 0
        var lastNumber: UInt64 = 0
        var waiting: [(ticket: Ticket, continuation: CheckedContinuation<Void, Never>)] = []
        var isRunning = false

        func isDone(_ ticket: Ticket) -> Bool { (lanes[ticket.owner]?.first ?? .max) > ticket.number }
    }

    private let state = Mutex(State())
    private let thread = DiskThreads(count: 1)
    private let most: Int

    /// - Parameter most: The maximum number of items in a batch.
    init(most: Int) { self.most = most }

    /// - Parameter body: Processes a batch, and returns how many of its first items; the others come back with a later batch.
    ///   May block. Every caller must pass the same closure.
    @discardableResult
    func add(_ item: Item, of owner: String, _ body: @escaping @Sendable ([Item]) -> Int) -> Ticket {
        let (number, isIdle) = state.withLock { state in
            state.lastNumber += 1
            state.count += 1
            if state.lanes[owner]?.hasItems != true { state.turns.append(owner) }
            state.lanes[owner, default: Lane()].added.append((state.lastNumber, item))
            defer { state.isRunning = true }
            return (state.lastNumber, !state.isRunning)
        }
        if isIdle {
            Task(executorPreference: thread) {
                // Lets threads that are about to add items do so first.
                sched_yield()
                while let items = self.next() { self.finished(items, body(items.map(\.item))) }
            }
        }
        return Ticket(owner: owner, number: number)
    }

    /// Waits until an item, and all earlier ones of its owner, are processed.
    func wait(for ticket: Ticket) async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                let isDone = state.isDone(ticket)
                if !isDone { state.waiting.append((ticket, continuation)) }
                return isDone
            }
            if isDone { continuation.resume() }
        }
    }

    /// Waits until all items of an owner so far are processed.
    func waitForAll(of owner: String) async {
        await wait(for: Ticket(owner: owner, number: state.withLock(\.lastNumber)))
    }

    /// The number of items that no batch has taken yet.
    var count: Int { state.withLock(\.count) }

    /// Returns the next batch. Returns nil and marks the queue as idle if no items are waiting.
    private func next() -> [(ticket: Ticket, item: Item)]? {
        state.withLock { state in
            var items: [(ticket: Ticket, item: Item)] = []
            while items.count < most, !state.turns.isEmpty {
                var later: [String] = []
                for (index, owner) in state.turns.enumerated() {
                    if items.count == most {
                        later = Array(state.turns[index...]) + later
                        break
                    }
                    guard let (number, item) = state.lanes[owner]?.next() else { continue }
                    items.append((Ticket(owner: owner, number: number), item))
                    if state.lanes[owner]?.running == nil { state.lanes[owner]?.running = number }
                    if state.lanes[owner]?.hasItems == true { later.append(owner) }
                }
                state.turns = later
            }
            state.count -= items.count
            state.isRunning = !items.isEmpty
            return items.isEmpty ? nil : items
        }
    }

    /// - Parameter count: How many of the first items of the batch are processed.
    private func finished(_ items: [(ticket: Ticket, item: Item)], _ count: Int) {
        let ready = state.withLock { state in
            for (ticket, item) in items.dropFirst(count).reversed() {
                let owner = ticket.owner
                if state.lanes[owner]?.hasItems == false { state.turns.insert(owner, at: 0) }
                state.lanes[owner]?.waiting.append((ticket.number, item))
                state.count += 1
            }
            for owner in Array(state.lanes.keys) {
                state.lanes[owner]?.running = nil
                if state.lanes[owner]?.hasItems == false { state.lanes[owner] = nil }
            }
            let waiting = state.waiting
            state.waiting = waiting.filter { !state.isDone($0.ticket) }
            return waiting.filter { state.isDone($0.ticket) }.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }
}

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

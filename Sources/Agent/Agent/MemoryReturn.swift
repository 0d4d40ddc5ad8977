import LinuxSystem
import Synchronization

/// Gives free memory back to the system when the agent comes to rest.
final class MemoryReturn: Sendable {
    private struct State {
        var isWaiting = false
        var hasWorked = false
    }

    private let state = Mutex(State())
    private let rest: Duration
    private let trim: @Sendable () -> Void

    /// - Parameter rest: how long nothing must happen.
    init(rest: Duration = .seconds(1), trim: @escaping @Sendable () -> Void = Memory.trimHeap) {
        self.rest = rest
        self.trim = trim
    }

    /// Records that the agent has worked. Waits for its rest, unless that has begun.
    func worked() {
        let mustWait = state.withLock { state in
            defer { state = State(isWaiting: true, hasWorked: true) }
            return !state.isWaiting
        }
        if mustWait { Task { await waitForRest() } }
    }

    private func waitForRest() async {
        var works = true
        while works {
            state.withLock { $0.hasWorked = false }
            try? await Timers.sleep(for: rest)
            works = state.withLock { state in
                state.isWaiting = state.hasWorked
                return state.hasWorked
            }
        }
        trim()
    }
}

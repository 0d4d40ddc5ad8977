import LinuxSystem
import Synchronization

/// Gives free memory of the heap back to the system, each second while the agent works and once more when it has come to
/// rest. Otherwise a burst of files leaves a heap of twice the size.
final class MemoryReturn: Sendable {
    private struct State {
        var isRunning = false
        var hasWorked = false
    }

    private let state = Mutex(State())
    private let pause: Duration
    private let trim: @Sendable () -> Void

    /// - Parameter pause: time between two returns, and how long nothing must happen before the last one.
    init(pause: Duration = .seconds(1), trim: @escaping @Sendable () -> Void = Memory.trimHeap) {
        self.pause = pause
        self.trim = trim
    }

    /// Records that the agent has worked. Begins to give memory back, unless that has begun.
    func worked() {
        let mustBegin = state.withLock { state in
            defer { state = State(isRunning: true, hasWorked: true) }
            return !state.isRunning
        }
        if mustBegin { Task { await run() } }
    }

    private func run() async {
        var works = true
        while works {
            state.withLock { $0.hasWorked = false }
            try? await Timers.sleep(for: pause)
            trim()
            works = state.withLock { state in
                state.isRunning = state.hasWorked
                return state.hasWorked
            }
        }
    }
}

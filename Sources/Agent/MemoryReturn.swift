import LinuxSystem
import Synchronization

/// Gives memory back to the system, each second while the agent works and once more when nothing happens any more.
final class MemoryReturn: Sendable {
    private struct State {
        var isRunning = false
        var hasWorked = false
    }

    private let state = Mutex(State())
    private let pause: Duration
    private let unmapLedger: @Sendable () -> Void

    /// - Parameters:
    ///   - pause: time between two returns, and how long nothing must happen before the last one.
    ///   - unmapLedger: unmaps the ledger's pages.
    init(pause: Duration = .seconds(1), unmapLedger: @escaping @Sendable () -> Void) {
        self.pause = pause
        self.unmapLedger = unmapLedger
    }

    /// Whether a return is still due.
    var isRunning: Bool { state.withLock { $0.isRunning } }

    /// Records that the agent has worked. Begins to give memory back, unless that has begun.
    func worked() {
        let mustBegin = state.withLock { state in
            defer { (state.isRunning, state.hasWorked) = (true, true) }
            return !state.isRunning
        }
        if mustBegin { Task { await run() } }
    }

    private func run() async {
        var works = true
        while works {
            try? await Timers.sleep(for: pause)
            works = state.withLock { state in
                defer { state.hasWorked = false }
                return state.hasWorked
            }
            unmapLedger()
            Memory.trimHeap()
            if works { continue }
            works = state.withLock { state in
                state.isRunning = state.hasWorked
                return state.hasWorked
            }
        }
    }
}

import Hummingbird
import Synchronization

/// Whether the agent can answer requests. While it reads its ledger at the start, it knows no files, and requests wait.
package final class Readiness: Sendable {
    /// The code of refused requests.
    static let obstacleCode = "input_output"

    private enum Phase {
        case starting, ready
        /// Something keeps the agent from starting.
        case hindered(String)
    }

    private struct State {
        var phase: Phase
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    package init(isReady: Bool = false) { state = Mutex(State(phase: isReady ? .ready : .starting)) }

    /// From now on, requests are answered.
    package func setReady() { enter(.ready) }

    /// Refuses requests with this reason until the agent is ready. If nil, requests wait again. Has no effect on a
    /// ready agent.
    package func setObstacle(_ reason: String?) { enter(reason.map { .hindered($0) } ?? .starting) }

    private func enter(_ phase: Phase) {
        let waiting = state.withLock { state in
            if case .ready = state.phase { return [CheckedContinuation<Void, Never>]() }
            state.phase = phase
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until requests can be answered.
    ///
    /// - Throws: `ControlRefusal` while something keeps the agent from starting.
    func wait() async throws {
        while true {
            switch state.withLock(\.phase) {
            case .ready: return
            case .hindered(let reason):
                throw ControlRefusal(
                    .serviceUnavailable, Self.obstacleCode, "the agent cannot start yet: \(reason)")
            case .starting: await nextPhase()
            }
        }
    }

    private func nextPhase() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard case .starting = state.phase else { return true }
                state.waiting.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }
}

/// Delays requests until the agent can answer, or refuses them while an obstacle keeps it from starting.
struct ReadinessGate: RouterMiddleware {
    let readiness: Readiness

    func handle(
        _ request: Request, context: ControlContext,
        next: (Request, ControlContext) async throws -> Response
    ) async throws -> Response {
        try await readiness.wait()
        return try await next(request, context)
    }
}

import EndToEndSupport
import TestSupport

/// Chooses the server's faults while posts are uploaded: occasional faults on every kind of request.
final class SourceFaults: Sendable {
    private typealias Endpoint = FaultServer.Endpoint

    private struct State {
        var random: SeededRandom
        var counts: [Endpoint: Int] = [:]
        /// File names by class. All files of a class fail to assemble together, at most twice: at the third failure,
        /// the agent correctly gives up.
        var classes = [Set<String>](repeating: [], count: SourceFaults.classes)
        var failures = 0
    }

    private static let classes = 12
    private let state: Shared<State>

    init(_ random: SeededRandom) { state = Shared(State(random: random)) }

    /// Allows files with this name to fail to assemble. All names of one content must use the same number.
    func mayFail(_ name: String, number: Int) {
        state.withLock { _ = $0.classes[number % Self.classes].insert(name) }
    }

    /// The number of faults by kind of request.
    var counts: [FaultServer.Endpoint: Int] { state.value.counts }

    func fault(_ endpoint: FaultServer.Endpoint) -> FaultServer.Fault? {
        state.withLock { state in
            // The first request of each kind always fails: some kinds are too rare to rely on chance.
            let isFirst = state.counts[endpoint] == nil
            guard isFirst || Int.random(in: 0..<Self.oneOf(endpoint), using: &state.random) == 0 else { return nil }
            state.counts[endpoint, default: 0] += 1
            if endpoint == .isFinish, state.failures < 2 * Self.classes, Bool.random(using: &state.random) {
                state.failures += 1
                return .assemblyFailedFor(state.classes[state.failures % Self.classes])
            }
            return Self.faults(endpoint).randomElement(using: &state.random)
        }
    }

    private static func oneOf(_ endpoint: FaultServer.Endpoint) -> Int { endpoint == .upload ? 25 : 4 }

    private static func faults(_ endpoint: FaultServer.Endpoint) -> [FaultServer.Fault] {
        let usual: [FaultServer.Fault] = [.lostReply, .reset, .status(500), .status(503), .truncated, .garbage]
        switch endpoint {
        case .isFinish: return usual + [.assembling, .notFoundForSeveral]
        case .commit: return usual + [.lostReply, .lostReply]
        default: return usual
        }
    }
}

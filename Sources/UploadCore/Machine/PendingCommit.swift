/// A source's revision on its way to the server. In memory only; the source's record stores it.
struct PendingCommit: Equatable, Sendable {
    enum Phase: Equatable, Sendable {
        /// Ready to send once the gates allow it.
        case ready
        /// Sent and not answered yet.
        case asking(RequestID)
        /// Waiting for the next attempt.
        case waiting(until: MonotonicTime)
    }

    let commit: SourceCommit
    var phase = Phase.ready
    /// Consecutive failures.
    var failures = 0
    var error: FileError?
    var nextAttemptAt: WallTime?

    init(_ commit: SourceCommit) { self.commit = commit }

    /// When the next attempt is due; nil unless waiting.
    var deadline: MonotonicTime? {
        if case .waiting(let until) = phase { until } else { nil }
    }

    var isAsked: Bool {
        if case .asking = phase { true } else { false }
    }

    /// Allows the next attempt at once.
    mutating func hurry() {
        guard deadline != nil else { return }
        failures = 0
        phase = .ready
    }
}

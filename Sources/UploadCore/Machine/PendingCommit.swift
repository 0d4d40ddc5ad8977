/// A source's revision on its way to the server. In memory only: the source's own record has it.
struct PendingCommit: Equatable, Sendable {
    enum Phase: Equatable, Sendable {
        /// To be sent when requests are let through.
        case ready
        /// Sent and not yet answered.
        case asking(RequestID)
        /// Waiting for the next attempt.
        case waiting(until: MonotonicTime)
    }

    let commit: SourceCommit
    var phase = Phase.ready
    /// Failures in a row.
    var failures = 0
    var error: FileError?
    var nextAttemptAt: WallTime?

    init(_ commit: SourceCommit) { self.commit = commit }

    /// When the next attempt is due; nil unless it waits for one.
    var deadline: MonotonicTime? {
        if case .waiting(let until) = phase { until } else { nil }
    }

    var isAsked: Bool {
        if case .asking = phase { true } else { false }
    }

    /// The next attempt may be made at once.
    mutating func hurry() {
        guard deadline != nil else { return }
        failures = 0
        phase = .ready
    }
}

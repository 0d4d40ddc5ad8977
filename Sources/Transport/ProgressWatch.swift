/// Tells a transfer that is slow from one that is stuck. A value: what it knows, it is told.
///
/// On a slow link the kernel takes a whole fragment at once and gets rid of it over minutes: what it still holds counts
/// as being sent, and every acknowledgement of the other end as progress.
struct ProgressWatch {
    enum Verdict: Equatable {
        case fine
        case stalled
        case replyOverdue
    }

    /// What can be seen of a transfer at one moment.
    struct Observation: Equatable {
        /// Whether the connection is there; until then libcurl's connect timeout watches.
        var connected: Bool
        /// Bytes of the body handed to the kernel.
        var written: Int64
        /// Bytes the kernel holds because the other end has not acknowledged them.
        var unacknowledged: Int
        /// Whether the whole body was handed to the kernel.
        var complete: Bool
        /// Whether the bandwidth limit holds the transfer back.
        var throttled: Bool

        /// Whether the other end has all of it.
        var arrived: Bool { complete && unacknowledged == 0 }
    }

    private enum Phase: Equatable {
        case connecting
        case sending(since: UInt64, written: Int64, unacknowledged: Int)
        case awaitingReply(since: UInt64)
    }

    private let stall: UInt64
    private let reply: UInt64
    private var phase = Phase.connecting

    init(stall: Duration, reply: Duration) {
        self.stall = stall.nanoseconds
        self.reply = reply.nanoseconds
    }

    /// For how long the other end has had the whole request, as far as was observed; nil where it has not.
    func silence(at now: UInt64) -> Duration? {
        guard case .awaitingReply(let since) = phase else { return nil }
        return .nanoseconds(Int64(clamping: now - min(since, now)))
    }

    /// Judges a transfer.
    ///
    /// - Parameter now: nanoseconds on a clock that never steps.
    mutating func observe(_ seen: Observation, at now: UInt64) -> Verdict {
        guard seen.connected else {
            // Also the way back: libcurl connects anew for a request whose old connection turned out dead.
            phase = .connecting
            return .fine
        }
        switch phase {
        case .awaitingReply(let since) where seen.arrived:
            return now >= since + reply ? .replyOverdue : .fine
        case .sending(let since, seen.written, seen.unacknowledged) where !seen.arrived && !seen.throttled:
            return now >= since + stall ? .stalled : .fine
        default:
            phase =
                seen.arrived
                ? .awaitingReply(since: now)
                : .sending(since: now, written: seen.written, unacknowledged: seen.unacknowledged)
            return .fine
        }
    }
}

/// Distinguishes a slow transfer from a stuck one. A plain value: the caller passes in observations and the time.
///
/// On a slow link the kernel accepts a whole fragment at once and sends the bytes over minutes. So bytes held by the
/// kernel count as being sent, and every acknowledgement from the other end counts as progress.
struct ProgressWatch {
    enum Verdict: Equatable {
        case fine
        case stalled
        case replyOverdue
    }

    /// The observed state of a transfer at one moment.
    struct Observation: Equatable {
        /// Whether the connection exists; before that, libcurl's connect timeout applies.
        var connected: Bool
        /// Body bytes passed to the kernel.
        var written: Int64
        /// Bytes in the kernel that the other end has not acknowledged.
        var unacknowledged: Int
        /// Whether the whole body was passed to the kernel.
        var complete: Bool
        /// Whether the bandwidth limit pauses the transfer.
        var throttled: Bool

        /// Whether the other end has the whole body.
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

    /// Returns the observed time since the other end received the whole request; nil before that.
    func silence(at now: UInt64) -> Duration? {
        guard case .awaitingReply(let since) = phase else { return nil }
        return .nanoseconds(Int64(clamping: now - min(since, now)))
    }

    /// Judges a transfer.
    ///
    /// - Parameter now: nanoseconds on a clock that never steps.
    mutating func observe(_ seen: Observation, at now: UInt64) -> Verdict {
        guard seen.connected else {
            // Also resets a later phase: libcurl reconnects for a request whose old connection turned out to be dead.
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

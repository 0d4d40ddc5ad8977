/// The pauses between attempts. They double from one second up to a ceiling. Random jitter shortens each pause by up to
/// a quarter, so that many agents do not retry in step after an outage.
public struct Backoff: Equatable, Sendable {
    /// The first pause.
    public static let first = Duration.seconds(1)

    /// The longest pause (`upload.retry_interval`).
    public var ceiling: Duration
    private var random: UInt64

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - ceiling: the longest pause.
    ///   - seed: seeds the pseudo-random sequence. Equal seeds give equal pauses.
    public init(ceiling: Duration, seed: UInt64) {
        self.ceiling = ceiling
        random = seed
    }

    /// Returns the pause after a number of consecutive failures.
    ///
    /// - Parameters:
    ///   - failures: the number of consecutive failures, from 1 on.
    ///   - longest: a lower ceiling for this pause; nil for the usual ceiling.
    public mutating func pause(afterFailures failures: Int, atMost longest: Duration? = nil) -> Duration {
        let doublings = min(max(failures, 1) - 1, 20)
        let ceiling = min(ceiling, longest ?? ceiling)
        let full = min(Self.first * (1 << doublings), max(ceiling, .milliseconds(1)))
        return full * (1 - nextFraction() / 4)
    }

    /// Returns the pause that a failure itself asks for; nil if the ordinary pauses apply.
    ///
    /// A server may ask for it with `Retry-After`. If somebody must fix the cause, the pause is the longest one.
    func pause(askedBy failure: RemoteFailure) -> Duration? {
        switch failure {
        case .temporary(_, let retryAfter, let outlook):
            Self.requested(retryAfter) ?? (outlook == .lasting ? ceiling : nil)
        case .busyUpload(_, let retryAfter): Self.requested(retryAfter)
        case .outOfStep, .signedOut, .forgotten, .permanent, .source, .cancelled: nil
        }
    }

    /// Returns the pause that a server requests with `Retry-After`; nil without one. A server that requests an immediate
    /// retry gets the ordinary pauses, so the result is nil as well.
    public static func requested(_ retryAfter: Duration?) -> Duration? {
        retryAfter.flatMap { $0 < first ? nil : $0 }
    }

    /// Returns a pseudo-random number in 0..<1 (SplitMix64).
    private mutating func nextFraction() -> Double {
        random &+= 0x9E37_79B9_7F4A_7C15
        var bits = random
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        bits ^= bits >> 31
        return Double(bits >> 11) / Double(1 << 53)
    }
}

/// The pauses between attempts: doubling from one second to a ceiling, each shortened at random by up to a quarter, so
/// that many agents that lost the same server do not come back in step.
public struct Backoff: Equatable, Sendable {
    /// The first pause.
    public static let first = Duration.seconds(1)

    /// The longest pause (`upload.retry_interval`).
    public var ceiling: Duration
    private var random: UInt64

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - ceiling: the longest pause.
    ///   - seed: start of the pseudo-random sequence; equal seeds give equal pauses.
    public init(ceiling: Duration, seed: UInt64) {
        self.ceiling = ceiling
        random = seed
    }

    /// The pause after so many failures in a row.
    ///
    /// - Parameters:
    ///   - failures: from 1 on.
    ///   - longest: a lower ceiling for this pause; nil for the usual one.
    public mutating func pause(afterFailures failures: Int, atMost longest: Duration? = nil) -> Duration {
        let doublings = min(max(failures, 1) - 1, 20)
        let ceiling = min(ceiling, longest ?? ceiling)
        let full = min(Self.first * (1 << doublings), max(ceiling, .milliseconds(1)))
        return full * (1 - nextFraction() / 4)
    }

    /// A pseudo-random number in 0..<1 (SplitMix64).
    private mutating func nextFraction() -> Double {
        random &+= 0x9E37_79B9_7F4A_7C15
        var bits = random
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        bits ^= bits >> 31
        return Double(bits >> 11) / Double(1 << 53)
    }
}

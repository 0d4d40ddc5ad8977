/// Counts the bytes a bandwidth limit allows. A plain value: the caller passes the time in nanoseconds on a clock
/// that never steps.
struct TokenBucket {
    /// Bytes per second; 0 means no limit.
    var rate: UInt64
    /// Number of bytes that may be sent now.
    private(set) var available: UInt64 = 0
    private var filledAt: UInt64

    init(rate: UInt64, now: UInt64) {
        self.rate = rate
        filledAt = now
    }

    /// Adds the bytes earned since the last call.
    ///
    /// - Parameter inDemand: whether a transfer waits. Without demand, at most a tenth of a second's bytes accumulate
    ///   for a burst. With demand, a thread that comes up to a second late loses no bytes.
    mutating func refill(at now: UInt64, inDemand: Bool) {
        let elapsed = min(now - min(filledAt, now), 1_000_000_000)
        let earned = UInt64(Double(rate) * Double(elapsed) / 1e9)
        // Less than a byte: leave the clock, so that the fraction is not lost.
        if earned == 0 && elapsed < 1_000_000_000 { return }
        filledAt = now
        available = min(available + earned, inDemand ? rate : max(rate / 10, 1))
    }

    mutating func take(atMost count: UInt64) -> UInt64 {
        let taken = min(count, available)
        available -= taken
        return taken
    }

    mutating func giveBack(_ count: UInt64) {
        available += count
    }
}

/// Counts the bytes a bandwidth limit allows. A value: time is passed in, nanoseconds on a clock that never steps.
struct TokenBucket {
    /// Bytes per second; 0: no limit.
    var rate: UInt64
    /// Bytes that may be sent now.
    private(set) var available: UInt64 = 0
    private var filledAt: UInt64

    init(rate: UInt64, now: UInt64) {
        self.rate = rate
        filledAt = now
    }

    /// Adds what became allowed since the last call.
    ///
    /// - Parameter inDemand: whether somebody waits. Nobody saves up more than a tenth of a second's worth for a
    ///   burst; one who waits loses nothing to a thread that comes late by up to a second.
    mutating func refill(at now: UInt64, inDemand: Bool) {
        let elapsed = min(now - min(filledAt, now), 1_000_000_000)
        let earned = UInt64(Double(rate) * Double(elapsed) / 1e9)
        // Less than a byte: it is kept by not moving the clock.
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

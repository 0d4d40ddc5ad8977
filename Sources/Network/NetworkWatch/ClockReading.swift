import LinuxSystem

/// Two clocks read together, to find out why the wall clock jumped.
struct ClockReading: Equatable, Sendable {
    /// CLOCK_BOOTTIME in nanoseconds, which continues during sleep.
    var boot: UInt64
    /// CLOCK_MONOTONIC in nanoseconds, which stops during sleep.
    var monotonic: UInt64

    /// Upper bound in nanoseconds for the time between the two reads.
    private static let slack: UInt64 = 1_000_000_000

    /// Reads the clocks (man 2 clock_gettime).
    static func now() -> ClockReading {
        ClockReading(boot: bootTimeNanoseconds(), monotonic: monotonicNanoseconds())
    }

    /// Returns why the wall clock jumped: a sleep since the earlier reading, or otherwise a program or user setting
    /// the clock.
    func cause(since earlier: ClockReading) -> NetworkChange.Cause {
        let slept = Int64(clamping: boot) - Int64(clamping: monotonic)
        let sleptBefore = Int64(clamping: earlier.boot) - Int64(clamping: earlier.monotonic)
        return slept - sleptBefore > Int64(Self.slack) ? .resumed : .clockSet
    }
}

import LinuxSystem

/// Two clocks read together, to tell why the wall clock jumped.
struct ClockReading: Equatable, Sendable {
    /// CLOCK_BOOTTIME, which goes on in sleep, nanoseconds.
    var boot: UInt64
    /// CLOCK_MONOTONIC, which does not, nanoseconds.
    var monotonic: UInt64

    /// More than the two can differ by for being read one after the other.
    private static let slack: UInt64 = 1_000_000_000

    /// Reads the clocks (man 2 clock_gettime).
    static func now() -> ClockReading {
        ClockReading(boot: bootTimeNanoseconds(), monotonic: monotonicNanoseconds())
    }

    /// Why the kernel reports a jump of the wall clock: a sleep since an earlier reading, or else somebody set it.
    func cause(since earlier: ClockReading) -> NetworkChange.Cause {
        let slept = Int64(clamping: boot) - Int64(clamping: monotonic)
        let sleptBefore = Int64(clamping: earlier.boot) - Int64(clamping: earlier.monotonic)
        return slept - sleptBefore > Int64(Self.slack) ? .resumed : .clockSet
    }
}

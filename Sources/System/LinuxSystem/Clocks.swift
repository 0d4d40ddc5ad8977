import Glibc

/// Nanoseconds on CLOCK_BOOTTIME (man 2 clock_gettime), which continues during sleep and never steps.
public func bootTimeNanoseconds() -> UInt64 { nanoseconds(CLOCK_BOOTTIME) }

/// Nanoseconds on CLOCK_MONOTONIC, which stops during sleep. systemd expects this clock (man 3 sd_notify,
/// MONOTONIC_USEC).
public func monotonicNanoseconds() -> UInt64 { nanoseconds(CLOCK_MONOTONIC) }

/// Processor time of this process, user and system, in nanoseconds.
public func processorNanoseconds() -> UInt64 { nanoseconds(CLOCK_PROCESS_CPUTIME_ID) }

/// Milliseconds since 1970 on the wall clock, for display only, never for comparison.
public func wallTimeMilliseconds() -> Int64 { wallTimeNanoseconds() / 1_000_000 }

/// Returns the wall clock's time, in nanoseconds since 1970, to compare with the times of files.
public func wallTimeNanoseconds() -> Int64 { Int64(nanoseconds(CLOCK_REALTIME)) }

private func nanoseconds(_ clock: Int32) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

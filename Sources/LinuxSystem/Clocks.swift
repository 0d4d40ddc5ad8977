import Glibc

/// Nanoseconds on CLOCK_BOOTTIME (man 2 clock_gettime): goes on while the machine sleeps, never steps.
public func bootTimeNanoseconds() -> UInt64 { nanoseconds(CLOCK_BOOTTIME) }

/// Nanoseconds on CLOCK_MONOTONIC, which stands still while the machine sleeps; a supervisor wants to hear it
/// (man 3 sd_notify, MONOTONIC_USEC).
public func monotonicNanoseconds() -> UInt64 { nanoseconds(CLOCK_MONOTONIC) }

/// Nanoseconds that this process has spent on processors, user and system.
public func processorNanoseconds() -> UInt64 { nanoseconds(CLOCK_PROCESS_CPUTIME_ID) }

/// Milliseconds since 1970 on the wall clock, to be shown and never compared.
public func wallTimeMilliseconds() -> Int64 { Int64(nanoseconds(CLOCK_REALTIME) / 1_000_000) }

private func nanoseconds(_ clock: Int32) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

import Glibc

/// Nanoseconds on CLOCK_BOOTTIME (man 2 clock_gettime): goes on while the machine sleeps, never steps.
public func bootTimeNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Nanoseconds on CLOCK_MONOTONIC, which stands still while the machine sleeps; a supervisor wants to hear it
/// (man 3 sd_notify, MONOTONIC_USEC).
public func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Milliseconds since 1970 on the wall clock, to be shown and never compared.
public func wallTimeMilliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
}

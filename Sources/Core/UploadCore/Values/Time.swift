/// A time of a clock that continues during sleep and never steps (CLOCK_BOOTTIME). Used for every decision.
public struct MonotonicTime: Hashable, Comparable, Sendable {
    /// Nanoseconds since the clock's start.
    public let nanoseconds: UInt64

    /// Creates the time this many nanoseconds after the clock's start.
    public init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    /// Compares two times.
    public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Returns a later time, clamped to the clock's range.
    public static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let distance = duration.wholeNanoseconds
        if distance < 0 {
            let (value, overflow) = time.nanoseconds.subtractingReportingOverflow(distance.magnitude)
            return MonotonicTime(nanoseconds: overflow ? 0 : value)
        }
        let (value, overflow) = time.nanoseconds.addingReportingOverflow(UInt64(distance))
        return MonotonicTime(nanoseconds: overflow ? .max : value)
    }

    /// Returns the duration from `earlier` to `later`; negative if `later` comes first.
    public static func - (later: MonotonicTime, earlier: MonotonicTime) -> Duration {
        later >= earlier
            ? .nanoseconds(Int64(clamping: later.nanoseconds - earlier.nanoseconds))
            : .zero - .nanoseconds(Int64(clamping: earlier.nanoseconds - later.nanoseconds))
    }
}

/// A time of the wall clock, for people. Never compare such times.
public struct WallTime: Hashable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public let milliseconds: Int64

    /// Creates the time this many milliseconds after 1970.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Returns the time `duration` later.
    public func advanced(by duration: Duration) -> WallTime {
        WallTime(milliseconds: milliseconds.addingReportingOverflow(duration.wholeNanoseconds / 1_000_000).partialValue)
    }
}

/// The time of both clocks, passed to all code that decides or records anything.
public struct Now: Hashable, Sendable {
    /// The time for decisions.
    public var monotonic: MonotonicTime
    /// The time for people.
    public var wall: WallTime

    /// Creates a pair of times.
    public init(monotonic: MonotonicTime, wall: WallTime) {
        self.monotonic = monotonic
        self.wall = wall
    }
}

extension Duration {
    /// The duration in nanoseconds, clamped to 64 bits (292 years).
    public var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, isBeyond) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isJustBeyond) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isBeyond || isJustBeyond ? (seconds < 0 ? .min : .max) : sum
    }
}

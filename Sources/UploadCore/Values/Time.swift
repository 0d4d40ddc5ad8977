/// A moment on a clock that goes on while the machine sleeps and never steps (CLOCK_BOOTTIME), for every decision.
public struct MonotonicTime: Hashable, Comparable, Sendable {
    /// Nanoseconds since the clock's start.
    public let nanoseconds: UInt64

    /// A moment so many nanoseconds after the clock's start.
    public init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    /// Orders in time.
    public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// A later moment; the clock's end when it would lie beyond, the start when before.
    public static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let distance = duration.wholeNanoseconds
        if distance < 0 {
            let (value, overflow) = time.nanoseconds.subtractingReportingOverflow(distance.magnitude)
            return MonotonicTime(nanoseconds: overflow ? 0 : value)
        }
        let (value, overflow) = time.nanoseconds.addingReportingOverflow(UInt64(distance))
        return MonotonicTime(nanoseconds: overflow ? .max : value)
    }

    /// The time from `earlier` to `later`; negative when they are the other way round.
    public static func - (later: MonotonicTime, earlier: MonotonicTime) -> Duration {
        later >= earlier
            ? .nanoseconds(Int64(clamping: later.nanoseconds - earlier.nanoseconds))
            : .zero - .nanoseconds(Int64(clamping: earlier.nanoseconds - later.nanoseconds))
    }
}

/// A moment on the wall clock, to be shown to people and never compared.
public struct WallTime: Hashable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public let milliseconds: Int64

    /// A moment so many milliseconds after 1970.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The moment `duration` later.
    public func advanced(by duration: Duration) -> WallTime {
        WallTime(milliseconds: milliseconds.addingReportingOverflow(duration.wholeNanoseconds / 1_000_000).partialValue)
    }
}

/// Both clocks at one moment, passed in wherever something is decided or recorded.
public struct Now: Hashable, Sendable {
    /// For decisions.
    public var monotonic: MonotonicTime
    /// For what people see.
    public var wall: WallTime

    /// Both clocks at one moment.
    public init(monotonic: MonotonicTime, wall: WallTime) {
        self.monotonic = monotonic
        self.wall = wall
    }
}

extension Duration {
    /// The duration in nanoseconds, clamped to what 64 bits hold (292 years).
    public var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, isBeyond) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isJustBeyond) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isBeyond || isJustBeyond ? (seconds < 0 ? .min : .max) : sum
    }
}

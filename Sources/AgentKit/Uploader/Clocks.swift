import LinuxSystem
import UploadCore

/// Where the time comes from, so that tests can hold it in their hands.
protocol Clocks: Sendable {
    /// Both clocks at this moment.
    var now: Now { get }
}

/// The machine's own clocks.
struct SystemClocks: Clocks {
    var now: Now {
        Now(
            monotonic: MonotonicTime(nanoseconds: bootTimeNanoseconds()),
            wall: WallTime(milliseconds: wallTimeMilliseconds()))
    }
}

import LinuxSystem
import UploadCore

/// Source of the current time; tests replace it.
protocol Clocks: Sendable {
    /// The current time of both clocks.
    var now: Now { get }
}

/// The system clocks.
struct SystemClocks: Clocks {
    var now: Now {
        Now(
            monotonic: MonotonicTime(nanoseconds: bootTimeNanoseconds()),
            wall: WallTime(milliseconds: wallTimeMilliseconds()))
    }
}

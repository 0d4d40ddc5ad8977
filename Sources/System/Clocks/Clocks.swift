import LinuxSystem
package import UploadCore

/// Source of the current time; tests replace it.
package protocol Clocks: Sendable {
    /// The current time of both clocks.
    var now: Now { get }
}

/// The system clocks.
package struct SystemClocks: Clocks {
    package init() {
    }

    package var now: Now {
        Now(
            monotonic: MonotonicTime(nanoseconds: bootTimeNanoseconds()),
            wall: WallTime(milliseconds: wallTimeMilliseconds()))
    }
}

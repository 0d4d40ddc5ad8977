import Clocks
import LinuxSystem
import Synchronization
package import UploadCore

/// A clock that advances only by calls of `advance(by:)`, or by `step` at each reading.
package final class HandClock: Clocks {
    private let time: Mutex<Now>
    /// How far each reading advances the clock.
    private let step: Duration

    package init(wall: WallTime = WallTime(milliseconds: 1_795_253_400_000), step: Duration = .zero) {
        self.step = step
        time = Mutex(Now(monotonic: MonotonicTime(nanoseconds: 1_000_000_000_000), wall: wall))
    }

    /// Returns a clock whose wall time is the machine's wall time plus `duration`, for comparisons with file times.
    package static func ahead(by duration: Duration, step: Duration = .zero) -> HandClock {
        HandClock(wall: WallTime(milliseconds: wallTimeMilliseconds()).advanced(by: duration), step: step)
    }

    package var now: Now {
        if step > .zero { advance(by: step) }
        return time.withLock { $0 }
    }

    package func advance(by duration: Duration) {
        time.withLock { $0 = Now(monotonic: $0.monotonic + duration, wall: $0.wall.advanced(by: duration)) }
    }
}

import LinuxSystem
import Synchronization
import UploadCore

@testable import AgentKit

/// A clock that goes on only when it is told to.
final class HandClock: Clocks {
    private let time: Mutex<Now>
    /// How far each look at the clock takes it on.
    private let step: Duration

    init(wall: WallTime = WallTime(milliseconds: 1_795_253_400_000), step: Duration = .zero) {
        self.step = step
        time = Mutex(Now(monotonic: MonotonicTime(nanoseconds: 1_000_000_000_000), wall: wall))
    }

    /// A clock whose wall time is that of the machine, or so much later: what is compared with the times of files.
    static func ahead(by duration: Duration, step: Duration = .zero) -> HandClock {
        HandClock(wall: WallTime(milliseconds: wallTimeMilliseconds()).advanced(by: duration), step: step)
    }

    var now: Now {
        if step > .zero { advance(by: step) }
        return time.withLock { $0 }
    }

    func advance(by duration: Duration) {
        time.withLock { $0 = Now(monotonic: $0.monotonic + duration, wall: $0.wall.advanced(by: duration)) }
    }
}

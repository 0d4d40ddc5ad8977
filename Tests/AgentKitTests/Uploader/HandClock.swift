import Synchronization
import UploadCore

@testable import AgentKit

/// A clock that goes on only when it is told to.
final class HandClock: Clocks {
    private let time: Mutex<Now>

    init() {
        time = Mutex(
            Now(
                monotonic: MonotonicTime(nanoseconds: 1_000_000_000_000),
                wall: WallTime(milliseconds: 1_795_253_400_000)))
    }

    var now: Now { time.withLock { $0 } }

    func advance(by duration: Duration) {
        time.withLock { $0 = Now(monotonic: $0.monotonic + duration, wall: $0.wall.advanced(by: duration)) }
    }
}

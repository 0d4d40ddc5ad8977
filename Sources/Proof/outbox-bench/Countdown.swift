import Glibc
import Synchronization

/// Lets one thread wait until other threads have counted down to zero.
final class Countdown: Sendable {
    private let left: Mutex<Int>

    init(_ count: Int) {
        left = Mutex(count)
    }

    func step() {
        left.withLock { $0 -= 1 }
    }

    func wait() {
        while left.withLock({ $0 > 0 }) { usleep(200) }
    }
}

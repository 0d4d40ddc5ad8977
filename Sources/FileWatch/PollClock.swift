import UploadCore

/// When directories are polled: every few seconds, but never more than a fifth of the time.
struct PollClock {
    private let interval: Duration
    private var began: MonotonicTime?
    /// When the next round is due; nil while there is nothing to poll or a round is on its way.
    private(set) var due: MonotonicTime?

    init(interval: Duration) {
        self.interval = interval
    }

    /// Whether a round is on its way.
    var isRunning: Bool { began != nil }

    /// There is something to poll: within the interval.
    mutating func wind(now: MonotonicTime) {
        if due == nil && began == nil { due = now + interval }
    }

    /// There is nothing to poll.
    mutating func stop() {
        due = nil
        began = nil
    }

    /// Begins a round if it is time to.
    mutating func begin(now: MonotonicTime) -> Bool {
        guard let time = due, time <= now else { return false }
        due = nil
        began = now
        return true
    }

    /// The round is over.
    mutating func finish(now: MonotonicTime) {
        guard let start = began else { return }
        began = nil
        due = max(start + interval, now + (now - start) * 4)
    }
}

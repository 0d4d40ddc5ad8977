import UploadCore

/// Schedules polling: every few seconds, but at most a fifth of the time.
struct PollClock {
    private let interval: Duration
    private var began: MonotonicTime?
    /// When the next round is due; nil while no directory needs polling or a round is running.
    private(set) var due: MonotonicTime?

    init(interval: Duration) {
        self.interval = interval
    }

    /// Whether a round is running.
    var isRunning: Bool { began != nil }

    /// Schedules a round within the interval, unless one is scheduled or running.
    mutating func wind(now: MonotonicTime) {
        if due == nil && began == nil { due = now + interval }
    }

    /// Cancels the schedule because no directory needs polling.
    mutating func stop() {
        due = nil
        began = nil
    }

    /// Begins a round if one is due; returns whether it did.
    mutating func begin(now: MonotonicTime) -> Bool {
        guard let time = due, time <= now else { return false }
        due = nil
        began = now
        return true
    }

    /// Ends the running round and schedules the next one.
    mutating func finish(now: MonotonicTime) {
        guard let start = began else { return }
        began = nil
        due = max(start + interval, now + (now - start) * 4)
    }
}

import UploadCore

/// A single task that sleeps until the earliest requested time.
struct Alarm: Sendable {
    private var next: (at: MonotonicTime, task: Task<Void, Never>)?

    /// Sets the alarm, unless it is already set to an earlier time in the future.
    mutating func set(for time: MonotonicTime, now: MonotonicTime, ring: @escaping @Sendable () async -> Void) {
        if let next, next.at <= time, next.at > now { return }
        next?.task.cancel()
        let pause = max(time - now, .milliseconds(1))
        next = (
            time,
            Task {
                guard (try? await Task.sleep(for: pause)) != nil else { return }
                await ring()
            }
        )
    }

    /// Clears the alarm after it rang.
    mutating func rang() { next = nil }

    /// Cancels the alarm.
    mutating func cancel() {
        next?.task.cancel()
        next = nil
    }
}

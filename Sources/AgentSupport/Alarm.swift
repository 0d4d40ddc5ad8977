package import UploadCore

/// A single task that sleeps until the earliest requested time.
package struct Alarm: Sendable {
    private var next: (at: MonotonicTime, task: Task<Void, Never>)?

    package init(next: (at: MonotonicTime, task: Task<Void, Never>)? = nil) {
        self.next = next
    }

    /// Sets the alarm, unless it is already set to an earlier time in the future.
    package mutating func set(for time: MonotonicTime, now: MonotonicTime, ring: @escaping @Sendable () async -> Void) {
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
    package mutating func rang() { next = nil }

    /// Cancels the alarm.
    package mutating func cancel() {
        next?.task.cancel()
        next = nil
    }
}

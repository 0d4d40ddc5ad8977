import LinuxSystem
package import UploadCore

/// A single task that sleeps until the earliest requested time.
package struct Alarm: Sendable {
    private static let patience = Duration.seconds(1)

    private var next: (at: MonotonicTime, task: Task<Void, Never>)?

    /// Whether the alarm is set.
    package var isSet: Bool { next != nil }

    package init(next: (at: MonotonicTime, task: Task<Void, Never>)? = nil) {
        self.next = next
    }

    /// Sets the alarm, unless it is already set to this time or an earlier one.
    ///
    /// An alarm that is overdue by more than a second is set anew, since the timer may not run while the machine sleeps.
    /// One that came due a moment ago rings soon. Setting it anew at each of many calls would postpone it for ever.
    package mutating func set(for time: MonotonicTime, now: MonotonicTime, ring: @escaping @Sendable () async -> Void) {
        if let next, next.at <= time, next.at + Self.patience > now { return }
        next?.task.cancel()
        let pause = max(time - now, .milliseconds(1))
        next = (
            time,
            Task {
                guard (try? await Timers.sleep(for: pause)) != nil else { return }
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

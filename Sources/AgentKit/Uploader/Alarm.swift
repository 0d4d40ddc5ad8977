import UploadCore

/// One task that sleeps until the nearest moment somebody waits for.
struct Alarm: Sendable {
    private var next: (at: MonotonicTime, task: Task<Void, Never>)?

    /// Has it ring at a moment, unless it is to ring before that anyway.
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

    /// It rang.
    mutating func rang() { next = nil }

    /// It is not to ring any more.
    mutating func cancel() {
        next?.task.cancel()
        next = nil
    }
}

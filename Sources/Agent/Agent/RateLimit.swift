import UploadCore

/// Limits how many jobs, such as examinations or reports, begin in each window of time. A window begins with its first job.
struct RateLimit: Sendable {
    /// Maximum number of jobs per window.
    let most: Int
    let window: Duration

    private var end = MonotonicTime(nanoseconds: 0)
    private var count = 0

    init(most: Int, per window: Duration) { (self.most, self.window) = (most, window) }

    /// From when another job may begin.
    var next: MonotonicTime { count < most ? MonotonicTime(nanoseconds: 0) : end }

    /// Counts a job that begins.
    mutating func use(now: MonotonicTime) {
        if end <= now { (end, count) = (now + window, 0) }
        count += 1
    }
}

/// Leaves most of the time to other work: after each job, the next one waits nineteen times as long as the job took.
struct TimeShare: Sendable {
    private static let rest = 19

    /// From when another job may begin.
    private(set) var next = MonotonicTime(nanoseconds: 0)

    /// Records that a job ended.
    mutating func worked(from begin: MonotonicTime, to end: MonotonicTime) {
        next = max(next, end + (end - begin) * Self.rest)
    }
}

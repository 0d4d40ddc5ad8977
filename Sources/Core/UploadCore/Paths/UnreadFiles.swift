/// Files that can't be read at the moment, because of their disk or file system. Each is tried again after a growing pause.
struct UnreadFiles: Sendable {
    /// The wait of one file.
    struct Wait: Sendable {
        var error: FileError
        var until: MonotonicTime
        var nextAttemptAt: WallTime
    }

    private struct Entry: Sendable {
        var failures = 0
        /// Nil while an attempt is under way.
        var wait: Wait?
    }

    private struct Deadline: Comparable {
        var at: MonotonicTime
        var path: RelativePath

        static func < (one: Deadline, other: Deadline) -> Bool { one.at < other.at }
    }

    /// One read a minute is little, and much sooner nobody expects a disk back.
    private static let longestPause = Duration.seconds(60)

    private var entries: [RelativePath: Entry] = [:]
    /// Also holds outdated deadlines.
    private var deadlines = PriorityQueue<Deadline>()
    private var backoff = Backoff(ceiling: longestPause, seed: 1)

    /// When the next file is due, or an outdated deadline passes.
    var nextDeadline: MonotonicTime? { deadlines.first?.at }

    /// How long a file waits; nil if it does not wait.
    func wait(of path: RelativePath) -> Wait? { entries.isEmpty ? nil : entries[path]?.wait }

    /// Records a failed attempt.
    mutating func fail(_ path: RelativePath, _ error: FileError, now: Now) {
        var entry = entries[path] ?? Entry()
        // A scan tried it again before its time. Only its own attempts make the pause longer.
        if entry.wait != nil { return }
        entry.failures += 1
        let pause = backoff.pause(afterFailures: entry.failures)
        let until = now.monotonic + pause
        entry.wait = Wait(error: error, until: until, nextAttemptAt: now.wall.advanced(by: pause))
        entries[path] = entry
        deadlines.insert(Deadline(at: until, path: path))
    }

    /// Removes a file that was read, or is of no interest any more.
    mutating func forget(_ path: RelativePath) {
        if entries.isEmpty { return }
        entries[path] = nil
        if entries.isEmpty { deadlines = PriorityQueue() }
    }

    /// Begins and returns the attempts that are due.
    mutating func takeDue(now: MonotonicTime) -> [RelativePath] {
        var due: [RelativePath] = []
        while let next = deadlines.first, next.at <= now {
            _ = deadlines.removeFirst()
            if entries[next.path]?.wait?.until == next.at { due.append(begin(next.path)) }
        }
        return due
    }

    /// Begins and returns the attempts on all waiting files in a directory, or on one file.
    mutating func takeAll(within directory: RelativePath) -> [RelativePath] {
        entries.filter { $0.value.wait != nil && $0.key.isWithin(directory) }.map { begin($0.key) }
    }

    private mutating func begin(_ path: RelativePath) -> RelativePath {
        entries[path]?.wait = nil
        return path
    }
}

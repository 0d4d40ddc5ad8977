import UploadCore

/// Delays reports while very many files change their states. Most states of a burst last for milliseconds, and a report
/// of each would be a fifth of the work for a small file.
///
/// So many reports of each interval are made at once that only a burst notices. The others wait for the end of the
/// interval, where a path has one report of its latest state. Final states never wait.
struct ReportPace: Sendable {
    static let interval = Duration.milliseconds(250)
    /// How many reports of an interval are made at once.
    static let mostAtOnce = 128

    private var limit = RateLimit(most: mostAtOnce, per: interval)
    private var delayed: Set<RelativePath> = []

    /// When the delayed reports are due; `nil` if there are none.
    var deadline: MonotonicTime? { delayed.isEmpty ? nil : limit.next }

    /// Whether to report a path now. Otherwise `takeDelayed` returns the path.
    mutating func admits(_ path: RelativePath, _ state: FileState, now: MonotonicTime) -> Bool {
        if state.isFinal {
            delayed.remove(path)
            return true
        }
        guard delayed.isEmpty, limit.next <= now else {
            delayed.insert(path)
            return false
        }
        limit.use(now: now)
        return true
    }

    /// Removes and returns the paths whose reports were delayed.
    mutating func takeDelayed() -> Set<RelativePath> {
        defer { delayed = [] }
        return delayed
    }
}

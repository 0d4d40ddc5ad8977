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

    private var intervalEnd = MonotonicTime(nanoseconds: 0)
    private var made = 0
    private var delayed: Set<RelativePath> = []

    /// When the delayed reports are due; `nil` if there are none.
    var deadline: MonotonicTime? { delayed.isEmpty ? nil : intervalEnd }

    /// Whether to report a path now. Otherwise `takeDelayed` returns the path.
    mutating func admits(_ path: RelativePath, _ state: FileState, now: MonotonicTime) -> Bool {
        if state.isFinal {
            delayed.remove(path)
            return true
        }
        if delayed.isEmpty, now >= intervalEnd { begin(now) }
        if made >= Self.mostAtOnce {
            delayed.insert(path)
            return false
        }
        made += 1
        return true
    }

    /// Removes and returns the paths whose reports were delayed.
    mutating func takeDelayed(now: MonotonicTime) -> Set<RelativePath> {
        defer { begin(now) }
        return delayed
    }

    private mutating func begin(_ now: MonotonicTime) {
        intervalEnd = now + Self.interval
        made = 0
        delayed = []
    }
}

/// Pairs names that disappear with names that appear, to recognise a rename when inotify does not report its two halves
/// together (man 7 inotify, "Dealing with rename() events"). This happens if a file moves into an unwatched directory,
/// if a rename is done as link and unlink, or if events are lost.
///
/// A name that disappears counts as removed after a grace period. If a new name has the same file and its content is
/// still unknown, the removal waits until the content is known.
struct NameChanges: Sendable {
    /// How long a name must be gone before the removal counts.
    let grace: Duration

    private struct Departure {
        var deadline: MonotonicTime
        var file: FileIdentity?
    }

    private var departures: [RelativePath: Departure] = [:]
    // All departures have the same grace and become due in order of arrival. Entries of returned names are stale.
    private var order: [(path: RelativePath, deadline: MonotonicTime)] = []
    private var head = 0
    private var departed: [FileIdentity: RelativePath] = [:]
    private var arrivals: [RelativePath: FileIdentity] = [:]
    private var arrived: [FileIdentity: RelativePath] = [:]
    // The number of arrivals per file size.
    private var arrivedSizes: [UInt64: Int] = [:]

    init(grace: Duration) {
        self.grace = grace
    }

    /// Records that a name disappeared.
    ///
    /// - Parameter file: the file that had the name, if known.
    mutating func leaves(_ path: RelativePath, file: FileIdentity?, now: MonotonicTime) {
        let deadline = now + grace
        departures[path] = Departure(deadline: deadline, file: file?.withoutChange)
        if let file { departed[file.withoutChange] = path }
        order.append((path, deadline))
    }

    /// Records that the name exists, again or still.
    mutating func stays(_ path: RelativePath) {
        guard let departure = departures.removeValue(forKey: path), let file = departure.file else { return }
        if departed[file] == path { departed[file] = nil }
    }

    /// Records a new name whose content is still unknown.
    mutating func arrives(_ path: RelativePath, file: FileIdentity) {
        forgetArrival(path)
        arrivals[path] = file.withoutChange
        arrived[file.withoutChange] = path
        arrivedSizes[file.size, default: 0] += 1
    }

    /// Forgets a new name: its content is known or no longer of interest.
    mutating func forgetArrival(_ path: RelativePath) {
        guard let file = arrivals.removeValue(forKey: path) else { return }
        if arrived[file] == path { arrived[file] = nil }
        let count = arrivedSizes[file.size] ?? 0
        arrivedSizes[file.size] = count > 1 ? count - 1 : nil
    }

    /// Whether the content of some new name of this size is still unknown.
    func hasArrival(ofSize size: UInt64) -> Bool { arrivedSizes[size] != nil }

    /// Cancels all pending departures below a directory, because the directory itself is gone.
    mutating func forgetDepartures(within directory: RelativePath) {
        for path in departures.keys where path.isWithin(directory) { stays(path) }
    }

    func isLeaving(_ path: RelativePath) -> Bool { departures[path] != nil }

    /// Returns the former name of this file.
    func formerName(of file: FileIdentity) -> RelativePath? { departed[file.withoutChange] }

    /// Removes and returns the names whose grace period is over.
    mutating func takeDue(now: MonotonicTime) -> [RelativePath] {
        var due: [RelativePath] = []
        while head < order.count, order[head].deadline <= now {
            let (path, deadline) = order[head]
            head += 1
            guard let departure = departures[path], departure.deadline == deadline else { continue }
            if let file = departure.file, arrived[file] != nil {
                leaves(path, file: file, now: now)
            } else {
                stays(path)
                due.append(path)
            }
        }
        if head > 1024, head * 2 > order.count {
            order.removeFirst(head)
            head = 0
        }
        return due
    }

    /// When the next name is due; nil if no name is leaving.
    var nextDeadline: MonotonicTime? { departures.isEmpty || head >= order.count ? nil : order[head].deadline }
}

extension FileIdentity {
    /// The identity without ctime, which a rename changes.
    fileprivate var withoutChange: FileIdentity {
        var file = self
        file.changed = 0
        return file
    }
}

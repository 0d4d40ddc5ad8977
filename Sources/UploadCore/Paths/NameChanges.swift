/// Names that went and names that came, so that a rename is known for one also where the kernel did not tell its two
/// halves together (man 7 inotify, "Dealing with rename() events"): into a directory that was not watched yet, by a
/// link and an unlink, or while events were lost.
///
/// A name that went counts as removed after a grace. A name that came with the very same file puts that off until its
/// content is known.
struct NameChanges: Sendable {
    /// How long a name must be gone before its removal counts.
    let grace: Duration

    private struct Departure {
        var deadline: MonotonicTime
        var file: FileIdentity?
    }

    private var departures: [RelativePath: Departure] = [:]
    // All have the same grace, so they become due in the order they came; entries of names that are back are stale.
    private var order: [(path: RelativePath, deadline: MonotonicTime)] = []
    private var head = 0
    private var departed: [FileIdentity: RelativePath] = [:]
    private var arrivals: [RelativePath: FileIdentity] = [:]
    private var arrived: [FileIdentity: RelativePath] = [:]
    // How many of the arrivals have a size.
    private var arrivedSizes: [UInt64: Int] = [:]

    init(grace: Duration) {
        self.grace = grace
    }

    /// A name is gone.
    ///
    /// - Parameter file: the file that bore it, where that is known.
    mutating func leaves(_ path: RelativePath, file: FileIdentity?, now: MonotonicTime) {
        let deadline = now + grace
        departures[path] = Departure(deadline: deadline, file: file?.withoutChange)
        if let file { departed[file.withoutChange] = path }
        order.append((path, deadline))
    }

    /// A name is there, again or still.
    mutating func stays(_ path: RelativePath) {
        guard let departure = departures.removeValue(forKey: path), let file = departure.file else { return }
        if departed[file] == path { departed[file] = nil }
    }

    /// A name came whose content is not known yet.
    mutating func arrives(_ path: RelativePath, file: FileIdentity) {
        forgetArrival(path)
        arrivals[path] = file.withoutChange
        arrived[file.withoutChange] = path
        arrivedSizes[file.size, default: 0] += 1
    }

    /// The content of a name that came is known, or is of no interest any more.
    mutating func forgetArrival(_ path: RelativePath) {
        guard let file = arrivals.removeValue(forKey: path) else { return }
        if arrived[file] == path { arrived[file] = nil }
        let count = arrivedSizes[file.size] ?? 0
        arrivedSizes[file.size] = count > 1 ? count - 1 : nil
    }

    /// Whether a name came whose content is not known yet and has this size.
    func hasArrival(ofSize size: UInt64) -> Bool { arrivedSizes[size] != nil }

    /// No name below a directory counts as gone any more: the directory itself is.
    mutating func forgetDepartures(within directory: RelativePath) {
        for path in departures.keys where path.isWithin(directory) { stays(path) }
    }

    func isLeaving(_ path: RelativePath) -> Bool { departures[path] != nil }

    /// The name that went and had this very file.
    func formerName(of file: FileIdentity) -> RelativePath? { departed[file.withoutChange] }

    /// Takes out the names that have been gone for long enough.
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

    /// When the next name is due; nil when none is leaving.
    var nextDeadline: MonotonicTime? { departures.isEmpty || head >= order.count ? nil : order[head].deadline }
}

extension FileIdentity {
    /// The identity as far as a rename leaves it alone.
    fileprivate var withoutChange: FileIdentity {
        var file = self
        file.changed = 0
        return file
    }
}

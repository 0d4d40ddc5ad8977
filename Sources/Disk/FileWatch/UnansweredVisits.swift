import LinuxSystem
import UploadCore

/// The directories that could not be listed because their file system did not answer. They are listed as soon as it does.
struct UnansweredVisits {
    private static let pause = Duration.seconds(5)

    private var visits: [WatchTree.ID: ScanQueue.Visit] = [:]
    /// When to try again; nil while there is nothing to list.
    var retry: MonotonicTime? {
        get { visits.isEmpty ? nil : next }
        set { if let newValue { next = newValue } }
    }
    private var next = MonotonicTime(nanoseconds: 0)
    private var unknownWatches: Set<Int32> = []

    /// The number of directories.
    var count: Int { visits.count }

    /// Adds a visit that failed.
    mutating func add(_ visit: ScanQueue.Visit, now: MonotonicTime) {
        if visits.isEmpty { next = now + Self.pause }
        var visit = visit
        // A new directory stays one, and all others may have changed.
        if visit.purpose != .fresh { visit.purpose = visits[visit.id]?.purpose ?? .verify }
        visits[visit.id] = visit
    }

    /// Removes a directory, because it was listed.
    mutating func remove(_ id: WatchTree.ID) {
        if visits.isEmpty { return }
        visits[id] = nil
        if visits.isEmpty { unknownWatches = [] }
    }

    /// Records an event of a watch that belongs to no directory yet: the call that added it has not returned.
    mutating func noteEvent(of watch: Int32) { if !visits.isEmpty { unknownWatches.insert(watch) } }

    /// Whether an event of a watch came before its directory was known.
    mutating func hadEvent(of watch: Int32) -> Bool { unknownWatches.remove(watch) != nil }

    /// Returns the visits to repeat, if it is time. They stay here until their directories are listed.
    mutating func take(now: MonotonicTime) -> [ScanQueue.Visit] {
        guard !visits.isEmpty, next <= now else { return [] }
        next = now + Self.pause
        return Array(visits.values)
    }

    /// Forgets directories that no longer exist.
    mutating func keep(where isThere: (WatchTree.ID) -> Bool) {
        for id in visits.keys where !isThere(id) { visits[id] = nil }
    }
}

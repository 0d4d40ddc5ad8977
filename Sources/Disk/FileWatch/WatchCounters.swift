import Synchronization

/// The watch's current state, and totals since its creation.
public struct WatchCounters: Equatable, Sendable {
    /// The last full scan's results.
    public struct Scan: Equatable, Sendable {
        /// Time from the scan's start to its end, including event handling in between.
        public var duration: Duration
        /// Number of names that are not directories.
        var files: Int
        /// Number of directories, the outbox included.
        var directories: Int
        /// Number of unreadable directories and missing mounts, for whose files the scan cannot vouch.
        var unvouched: Int
    }

    /// Creates counters at zero.
    public init() {}

    /// Whether the outbox is present.
    var isOutboxThere = false
    /// Number of known directories, the outbox included.
    var directories = 0
    /// Number of inotify watches held.
    public internal(set) var watches = 0
    /// Number of polled directories for each reason.
    public internal(set) var polled: [PollReason: Int] = [:]
    /// Number of directories with files that the watch reports once there is room.
    public internal(set) var deferred = 0
    /// Number of directories that were not listed, because their file system does not answer.
    public internal(set) var unanswered = 0
    /// Number of missing mounts below the outbox.
    var lostMounts = 0
    /// Number of kernel events handled.
    var events: UInt64 = 0
    /// Number of times events were lost.
    public internal(set) var overflows: UInt64 = 0
    /// Number of completed full scans.
    public internal(set) var fullScans: UInt64 = 0
    /// The last full scan; nil before the end of the first one.
    public internal(set) var lastScan: Scan?
    /// Number of polling rounds begun.
    var polls: UInt64 = 0
    /// Number of rounds of the watch thread; constant while nothing happens.
    var rounds: UInt64 = 0
}

/// Publishes the watch thread's counters to other threads.
final class CounterBoard: Sendable {
    private let counters = Mutex(WatchCounters())

    var latest: WatchCounters { counters.withLock { $0 } }

    func publish(_ latest: WatchCounters) { counters.withLock { $0 = latest } }
}

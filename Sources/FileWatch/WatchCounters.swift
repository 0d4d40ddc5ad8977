import Synchronization

/// What the watch is doing and has done since it was made.
public struct WatchCounters: Equatable, Sendable {
    /// What the last full scan came to.
    public struct Scan: Equatable, Sendable {
        /// From its begin to its end, with what was done in between.
        public var duration: Duration
        /// Number of names that are not directories.
        public var files: Int
        /// Number of directories, the outbox included.
        public var directories: Int
        /// Number of directories for whose files it could not vouch.
        public var unvouched: Int
    }

    /// Nothing done yet.
    public init() {}

    /// Whether the outbox is there.
    public internal(set) var isOutboxThere = false
    /// Directories that are known, the outbox included.
    public internal(set) var directories = 0
    /// Inotify watches held.
    public internal(set) var watches = 0
    /// Directories that are polled, for each reason.
    public internal(set) var polled: [PollReason: Int] = [:]
    /// Mounts below the outbox that are away.
    public internal(set) var lostMounts = 0
    /// Events of the kernel handled.
    public internal(set) var events: UInt64 = 0
    /// Times that events were lost.
    public internal(set) var overflows: UInt64 = 0
    /// Full scans ended.
    public internal(set) var fullScans: UInt64 = 0
    /// The last full scan; nil before the first one ended.
    public internal(set) var lastScan: Scan?
    /// Rounds of polling begun.
    public internal(set) var polls: UInt64 = 0
    /// Times the watch's thread had something to do; stands still while nothing happens.
    public internal(set) var rounds: UInt64 = 0
}

/// Where the watch's thread leaves its counters for others to read.
final class CounterBoard: Sendable {
    private let counters = Mutex(WatchCounters())

    var latest: WatchCounters { counters.withLock { $0 } }

    func publish(_ latest: WatchCounters) { counters.withLock { $0 = latest } }
}

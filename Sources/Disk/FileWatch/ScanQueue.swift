import LinuxSystem
import UploadCore

/// The directories waiting to be listed, and the running full scan.
///
/// Directories are listed one after the other and in slices, so that events are handled in between. The queue
/// replaces recursion, so no tree is too deep.
struct ScanQueue {
    /// Why a directory is listed.
    enum Purpose {
        /// Part of the full scan: descends, skips known files.
        case full
        /// A new directory: descends, reports every file.
        case fresh
        /// A directory that may have changed unnoticed: descends, skips known files.
        case verify
        /// A directory with incomplete events: lists this directory alone, skips known files.
        case poll
        /// A directory with deferred files: looks at these files, or lists this directory alone; skips known files.
        case catchUp
    }

    struct Visit: Equatable {
        var id: WatchTree.ID
        var purpose: Purpose
    }

    /// A directory whose entries are being processed.
    struct Listing {
        var visit: Visit
        var directory: Directory
        var names: NameList
    }

    /// The listing in progress.
    var current: Listing?
    /// The full scan's findings so far; nil while no full scan is running.
    private(set) var summary: ScanSummary?
    /// Set once the running full scan has listed all directories: the last request of deferred files to wait for.
    private(set) var awaited: UInt64?
    /// Whether a full scan should start as soon as no other full scan is running.
    private(set) var isFullWanted = false
    /// When the next periodic full scan begins.
    private(set) var nextFull: MonotonicTime
    /// When the running full scan began.
    private var began: MonotonicTime
    /// When the last full scan had listed all directories.
    private var listed: MonotonicTime
    private var pollsWaiting = 0

    /// The pause after a full scan is at least this many times as long as the scan.
    private static let pauseFactor = 20

    private var visits: [Visit] = []
    private var fullVisits: [Visit] = []

    init(nextFull: MonotonicTime) {
        self.nextFull = nextFull
        (began, listed) = (nextFull, nextFull)
    }

    /// Whether any directory is being polled or waits for polling.
    var isPolling: Bool { pollsWaiting > 0 || current?.visit.purpose == .poll }

    /// Whether no directory is waiting or being listed.
    var isIdle: Bool { current == nil && visits.isEmpty && fullVisits.isEmpty }

    /// Whether the queue has no work left: a full scan without remaining directories must still be finished, unless it
    /// waits for deferred files.
    var isAtRest: Bool { isIdle && (summary == nil || awaited != nil) && !isFullWanted }

    mutating func push(_ id: WatchTree.ID, _ purpose: Purpose) {
        let visit = Visit(id: id, purpose: purpose)
        if purpose == .full {
            fullVisits.append(visit)
        } else if visits.last != visit {
            visits.append(visit)
            if purpose == .poll { pollsWaiting += 1 }
        }
    }

    /// Removes and returns the next directory; new directories come before those of the full scan.
    mutating func pop() -> Visit? {
        guard let visit = visits.popLast() else { return fullVisits.popLast() }
        if visit.purpose == .poll { pollsWaiting -= 1 }
        return visit
    }

    /// Requests a full scan.
    mutating func wantFull() { isFullWanted = true }

    /// Begins a full scan if one is requested or due, and none is running. A requested one also replaces a scan that
    /// only waits for deferred files.
    mutating func beginFullIfDue(now: MonotonicTime) {
        guard summary == nil ? isFullWanted || nextFull <= now : isFullWanted && awaited != nil else { return }
        isFullWanted = false
        awaited = nil
        began = now
        summary = ScanSummary()
        push(WatchTree.root, .full)
    }

    /// Has the full scan wait for the deferred files it found, up to this request: a full scan ends when everything it
    /// found is reported.
    mutating func waitForDeferred(through request: UInt64, now: MonotonicTime) {
        if awaited == nil { (awaited, listed) = (request, now) }
    }

    /// Ends the full scan.
    ///
    /// - Parameter pause: time until the next full scan. After a long scan it is longer, so that an outbox with a million
    ///   files does not keep a processor busy.
    mutating func finishFull(now: MonotonicTime, pause: Duration) -> ScanSummary? {
        defer { (summary, awaited) = (nil, nil) }
        nextFull = now + max(pause, (listed - began) * Self.pauseFactor)
        summary?.duration = now - began
        return summary
    }

    /// Counts a path as seen by the full scan, if one is running.
    mutating func count(_ path: RelativePath, isKnown: Bool = false) { summary?.insert(path, isKnown: isKnown) }

    /// Counts a listed directory.
    mutating func countDirectory() { summary?.directories += 1 }

    /// Counts a directory that cannot be listed.
    mutating func countUnreadable(_ path: RelativePath) { summary?.unreadable.insert(path) }
}

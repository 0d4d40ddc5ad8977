import LinuxSystem
import UploadCore

/// The directories that wait to be listed, and the full scan that is on its way.
///
/// Directories are visited one after the other and in slices, so that events are handled in between and no depth is
/// too deep.
struct ScanQueue {
    /// Why a directory is listed.
    enum Purpose {
        /// Part of the full scan: goes all the way down, leaves out what is known.
        case full
        /// It is new here: goes all the way down and tells of everything.
        case fresh
        /// It may have changed unnoticed: goes all the way down, leaves out what is known.
        case verify
        /// Events do not tell all of it: this directory alone, leaves out what is known.
        case poll
    }

    struct Visit: Equatable {
        var id: WatchTree.ID
        var purpose: Purpose
    }

    /// A directory in the middle of being looked through.
    struct Listing {
        var visit: Visit
        var directory: Directory
        var entries: [Directory.Entry]
        var position = 0
    }

    /// The listing that is being worked off.
    var current: Listing?
    /// What the full scan found so far; nil while there is none.
    private(set) var summary: ScanSummary?
    /// Whether a full scan is to follow as soon as none is on its way.
    private(set) var isFullWanted = false
    /// When the next full scan begins by itself.
    private(set) var nextFull: MonotonicTime
    /// When the full scan that is on its way began.
    private var began: MonotonicTime
    private var pollsWaiting = 0

    private var visits: [Visit] = []
    private var fullVisits: [Visit] = []

    init(nextFull: MonotonicTime) {
        self.nextFull = nextFull
        began = nextFull
    }

    /// Whether a directory waits, or is on its way, that is to be polled.
    var isPolling: Bool { pollsWaiting > 0 || current?.visit.purpose == .poll }

    /// Whether no directory waits.
    var isIdle: Bool { current == nil && visits.isEmpty && fullVisits.isEmpty }

    /// Whether there is nothing to do before something happens: a full scan without directories left has yet to end.
    var isAtRest: Bool { isIdle && summary == nil && !isFullWanted }

    mutating func push(_ id: WatchTree.ID, _ purpose: Purpose) {
        let visit = Visit(id: id, purpose: purpose)
        if purpose == .full {
            fullVisits.append(visit)
        } else if visits.last != visit {
            visits.append(visit)
            if purpose == .poll { pollsWaiting += 1 }
        }
    }

    /// The next directory; new ones come before the full scan.
    mutating func pop() -> Visit? {
        guard let visit = visits.popLast() else { return fullVisits.popLast() }
        if visit.purpose == .poll { pollsWaiting -= 1 }
        return visit
    }

    /// Asks for a full scan.
    mutating func wantFull() { isFullWanted = true }

    /// Begins a full scan if one is wanted or due, and none is on its way.
    mutating func beginFullIfDue(now: MonotonicTime) {
        guard summary == nil, isFullWanted || nextFull <= now else { return }
        isFullWanted = false
        began = now
        summary = ScanSummary()
        push(WatchTree.root, .full)
    }

    /// Ends the full scan.
    ///
    /// - Parameter pause: time to the next one.
    mutating func finishFull(now: MonotonicTime, pause: Duration) -> ScanSummary? {
        defer { summary = nil }
        nextFull = now + pause
        summary?.duration = now - began
        return summary
    }

    /// Counts a path as seen by the full scan, if one is on its way.
    mutating func count(_ path: RelativePath) { summary?.insert(path) }

    /// Counts a listed directory.
    mutating func countDirectory() { summary?.directories += 1 }

    /// Counts a directory that cannot be listed.
    mutating func countUnreadable(_ path: RelativePath) { summary?.unreadable.insert(path) }
}

import LinuxSystem
import SystemPackage
import UploadCore

/// Decides when a file is complete: quiet for a while, and without a writer.
///
/// A plain value without I/O: the caller passes in events, looks and the time, and receives decisions.
struct Settler {
    /// Why a file needs settling.
    enum Cause {
        /// The file's name appeared, or a scan found the file; whether a writer exists is unknown.
        case appeared
        /// A writer closed the file, or the file was moved in.
        case written
        /// The file was renamed within the outbox, or its attributes changed; reported only if not known already.
        case touched
        /// The file changed during a read.
        case reconsidered
    }

    /// The result of a look.
    enum Verdict: Equatable {
        /// Undecided; the settler requests another look later.
        case wait
        /// The file is ready. `unlessKnown`: report the file only if this state was not handled already.
        case ready(FileStatus, unlessKnown: Bool)
        /// The file was reported as seen and no longer exists.
        case gone
        /// The file was never reported as seen and does not exist.
        case nothing
        /// Not a regular file.
        case odd(FileStatus, unlessKnown: Bool)
        /// A directory has taken the name.
        case directory
        /// The file cannot be opened.
        case unreadable(Errno)
    }

    private struct Entry {
        var due: MonotonicTime
        /// The deadline of this entry's one valid place in the heap; the other places are outdated.
        var queued: MonotonicTime
        var isAnnounced: Bool
        var isFiltered: Bool
        var hasWriterClosed: Bool
        var isMissing = false
        /// Whether the file stays for longer than the quiet time, because of a possible writer.
        var isHeldUp = false
        var pause: Duration
        var steady: (status: FileStatus, since: MonotonicTime)?
    }

    private static let longestPause: Duration = .seconds(5)

    private let settle: Duration
    private let unknownWriterWait: Duration
    private var entries = PathMap<Entry>()
    private var heap = DeadlineHeap<MonotonicTime, RelativePath>()
    private var heldUp = 0

    init(settle: Duration, unknownWriterWait: Duration) {
        self.settle = settle
        self.unknownWriterWait = unknownWriterWait
    }

    /// When the next look is due; the entry at this deadline may be outdated.
    var deadline: MonotonicTime? { heap.first }

    /// How much the files count against the window of the watch. A file with a writer counts for an eighth: new files
    /// need not wait until a program closes thousands of others.
    var load: Int { entries.count - heldUp + heldUp / 8 }

    /// Whether the file is being settled.
    func contains(_ path: RelativePath) -> Bool { !entries.isEmpty && entries[path] != nil }

    /// Returns how long a file must still be quiet, judging by its times; zero or less if it has been quiet for long enough.
    ///
    /// The quiet time runs from the last write. A rename, a link or a chmod changes only ctime. After one the file still
    /// waits until any later change shows in ctime (`FileIdentity.isRacy`), so that one hash of it is enough. That
    /// judgement rounds the time down to milliseconds (`WallTime`), so the file waits for one more.
    ///
    /// - Parameter wall: the present time, nanoseconds since 1970.
    func quietTimeLeft(_ status: FileStatus, wall: Int64) -> Duration {
        let sinceChange = Self.time(since: status.changed, wall)
        // Every write changes ctime too, so an mtime that is later was set by a program.
        let sinceWrite = max(Self.time(since: status.modified, wall), sinceChange)
        // If the clock was set back, the times say nothing.
        return min(settle, max(settle - sinceWrite, .milliseconds(1) - sinceChange))
    }

    /// Returns the least time that may have passed since a time of a file.
    private static func time(since stamp: Int64, _ wall: Int64) -> Duration {
        let (time, overflow) = wall.subtractingReportingOverflow(stamp)
        return .nanoseconds(overflow ? 0 : time) - .nanoseconds(FileIdentity.granularity(of: stamp))
    }

    /// Handles an event and restarts the quiet time.
    ///
    /// - Parameter quiet: the quiet time; nil for all of `settle`.
    /// - Returns: whether to report the file as seen.
    mutating func note(
        _ path: RelativePath, _ cause: Cause, now: MonotonicTime, quiet: Duration? = nil
    ) -> Bool {
        var entry =
            entries[path]
            ?? Entry(
                due: now, queued: MonotonicTime(nanoseconds: .max), isAnnounced: false, isFiltered: true,
                hasWriterClosed: false, pause: settle)
        entry.due = now + max(.zero, quiet ?? settle)
        entry.pause = settle
        entry.steady = nil
        entry.isMissing = false
        entry.isHeldUp = false
        let wasAnnounced = entry.isAnnounced
        switch cause {
        case .appeared:
            entry.hasWriterClosed = false
            entry.isAnnounced = true
        case .written:
            entry.hasWriterClosed = true
            entry.isAnnounced = true
        case .touched: break
        case .reconsidered: entry.isAnnounced = true
        }
        if entry.isAnnounced { entry.isFiltered = false }
        store(entry, at: path)
        return entry.isAnnounced && !wasAnnounced && cause != .reconsidered
    }

    /// Judges a file found by a scan.
    ///
    /// - Parameter wall: the present time, nanoseconds since 1970; the only clock comparable with a file's times.
    /// - Returns: the verdict, and whether to report the file as seen.
    mutating func found(
        _ path: RelativePath, _ look: Look, now: MonotonicTime, wall: Int64
    ) -> (verdict: Verdict, isSeen: Bool) {
        switch look {
        case .free(let status):
            let quiet = quietTimeLeft(status, wall: wall)
            if quiet <= .zero { return (.ready(status, unlessKnown: false), false) }
            return (.wait, note(path, .appeared, now: now, quiet: quiet))
        case .odd(let status): return (.odd(status, unlessKnown: false), false)
        case .directory: return (.directory, false)
        case .missing: return (.nothing, false)
        case .unreadable(let error): return (.unreadable(error), false)
        case .busy, .starved: return (.wait, note(path, .appeared, now: now))
        case .unknown(let status):
            let isSeen = note(path, .appeared, now: now)
            entries[path]?.steady = (status, now)
            return (.wait, isSeen)
        }
    }

    /// Returns the files due for a look, each at most once.
    mutating func takeDue(now: MonotonicTime, limit: Int) -> [RelativePath] {
        var result: [RelativePath] = []
        while result.count < limit, let (time, path) = heap.pop(until: now) {
            guard var entry = entries[path], entry.queued == time else { continue }
            entry.queued = MonotonicTime(nanoseconds: .max)
            if entry.due > now {
                store(entry, at: path)
            } else {
                entries[path] = entry
                result.append(path)
            }
        }
        return result
    }

    /// Judges a file from `takeDue`.
    mutating func looked(at path: RelativePath, _ look: Look, now: MonotonicTime) -> Verdict {
        guard let entry = entries[path] else { return .nothing }
        switch look {
        case .free(let status): return finish(path, .ready(status, unlessKnown: entry.isFiltered))
        case .unknown(let status): return judgeUnknown(path, entry, status, now: now)
        case .busy, .starved: return waitLonger(path, entry, now: now)
        case .missing:
            // A rename may be the reason, with its event still to come; the event would move the entry to the new
            // name.
            if !entry.isMissing {
                var entry = entry
                entry.isMissing = true
                entry.due = now + settle
                store(entry, at: path)
                return .wait
            }
            return finish(path, entry.isAnnounced ? .gone : .nothing)
        case .odd(let status): return finish(path, .odd(status, unlessKnown: entry.isFiltered))
        case .directory: return finish(path, .directory)
        case .unreadable(let error): return finish(path, .unreadable(error))
        }
    }

    /// Removes a path and everything below it.
    mutating func remove(_ path: RelativePath, isDirectory: Bool) {
        take(path)
        if !isDirectory || entries.isEmpty { return }
        for key in entries.paths(within: path) { take(key) }
    }

    /// Renames the entry of a path, and for a directory every entry below it.
    mutating func move(from old: RelativePath, to new: RelativePath, isDirectory: Bool) {
        remove(new, isDirectory: isDirectory)
        let keys = isDirectory ? entries.paths(within: old) : [old]
        for key in keys {
            guard var entry = take(key), let target = key.moved(from: old, to: new) else {
                continue
            }
            entry.queued = MonotonicTime(nanoseconds: .max)
            entry.isMissing = false
            store(entry, at: target)
        }
    }

    /// Removes all entries.
    mutating func removeAll() {
        entries = PathMap()
        heap = DeadlineHeap()
        heldUp = 0
    }

    private mutating func finish(_ path: RelativePath, _ verdict: Verdict) -> Verdict {
        take(path)
        return verdict
    }

    private mutating func waitLonger(_ path: RelativePath, _ entry: Entry, now: MonotonicTime) -> Verdict {
        var entry = entry
        entry.pause = min(entry.pause * 2, max(settle, Self.longestPause))
        entry.due = now + entry.pause
        entry.steady = nil
        entry.isMissing = false
        entry.isHeldUp = true
        store(entry, at: path)
        return .wait
    }

    private mutating func judgeUnknown(
        _ path: RelativePath, _ entry: Entry, _ status: FileStatus, now: MonotonicTime
    ) -> Verdict {
        if entry.hasWriterClosed { return finish(path, .ready(status, unlessKnown: entry.isFiltered)) }
        var entry = entry
        entry.isMissing = false
        entry.isHeldUp = true
        if let steady = entry.steady, steady.status.isUnchanged(status) {
            if now - steady.since >= unknownWriterWait {
                return finish(path, .ready(status, unlessKnown: entry.isFiltered))
            }
            entry.due = steady.since + unknownWriterWait
        } else {
            entry.steady = (status, now)
            entry.due = now + unknownWriterWait
        }
        store(entry, at: path)
        return .wait
    }

    /// Stores an entry, with a place in the heap no later than its due time.
    private mutating func store(_ entry: Entry, at path: RelativePath) {
        var entry = entry
        if entry.due < entry.queued {
            entry.queued = entry.due
            heap.push(path, at: entry.due)
        }
        if entries[path]?.isHeldUp == true { heldUp -= 1 }
        if entry.isHeldUp { heldUp += 1 }
        entries[path] = entry
    }

    /// Removes and returns an entry.
    @discardableResult
    private mutating func take(_ path: RelativePath) -> Entry? {
        let entry = entries.removeValue(forKey: path)
        if entry?.isHeldUp == true { heldUp -= 1 }
        return entry
    }
}

extension FileStatus {
    /// Whether both describe the same file with the same size and times.
    fileprivate func isUnchanged(_ other: FileStatus) -> Bool {
        device == other.device && inode == other.inode && size == other.size && modified == other.modified
            && changed == other.changed
    }
}

/// The result of one look at a name.
enum Look: Equatable {
    /// A regular file with no writer.
    case free(FileStatus)
    /// A regular file that a process has open or mapped for writing, or that changed during the look.
    case busy
    /// A regular file; whether a writer has the file open cannot be determined.
    case unknown(FileStatus)
    /// Neither a regular file nor a directory.
    case odd(FileStatus)
    /// A directory.
    case directory
    /// The name does not exist.
    case missing
    /// The name or the file cannot be opened.
    case unreadable(Errno)
    /// The look failed for lack of descriptors or memory.
    case starved
}

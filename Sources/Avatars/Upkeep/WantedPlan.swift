import UploadCore

/// Which wanted pictures have to be looked after, and when. A value: it is told what happens and what time it is.
struct WantedPlan {
    /// How looking after one ended.
    enum Outcome: Equatable, Sendable {
        /// It is mirrored, and the server need not be asked for this long.
        case fresh(Duration)
        /// It can't be had, and is not to be tried for this long.
        case failed(Duration)
        /// It was no fault of the picture's: it will do later.
        case interrupted
    }

    /// Pause after a first interruption; it doubles up to `longestPause`.
    static let firstPause = Duration.seconds(60)
    /// The longest pause after interruptions.
    static let longestPause = Duration.seconds(3600)
    /// No picture is looked at more often, whatever its server says about freshness.
    static let shortestLife = Duration.seconds(60)

    private struct Entry {
        /// nil while it is being looked after.
        var due: MonotonicTime?
        var pause = WantedPlan.firstPause
        var isInterrupted = false
        /// Whether it was removed while it is being looked after.
        var isForgotten = false
    }

    private let maximumRunning: Int
    private var entries: [AvatarDesk.Wish: Entry] = [:]
    private var queue = DueQueue<AvatarDesk.Wish>()
    private var running = 0
    private var heldUntil: MonotonicTime?

    /// Nothing is wanted.
    ///
    /// - Parameter maximumRunning: how many are looked after at once.
    init(maximumRunning: Int) {
        self.maximumRunning = maximumRunning
    }

    /// Everything that is wanted now; what was wanted before keeps its time.
    ///
    /// - Returns: what is being looked after and no longer wanted.
    mutating func replace(_ wishes: [AvatarDesk.Wish], now: MonotonicTime) -> [AvatarDesk.Wish] {
        let wanted = Set(wishes)
        var stopped: [AvatarDesk.Wish] = []
        for (wish, entry) in entries where !wanted.contains(wish) {
            entries[wish] = nil
            if entry.due == nil { stopped.append(wish) }
        }
        running -= stopped.count
        for wish in wishes where entries[wish] == nil {
            entries[wish] = Entry(due: now)
            insert(wish, due: now)
        }
        return stopped
    }

    /// What has to be looked after now; it counts as running until ``ended(_:_:now:)``.
    mutating func start(now: MonotonicTime) -> [AvatarDesk.Wish] {
        var started: [AvatarDesk.Wish] = []
        if let heldUntil, now < heldUntil { return [] }
        while running < maximumRunning, let (wish, due) = queue.first, due <= now {
            queue.removeFirst()
            // Otherwise it is an older time of a picture that has another one now.
            guard entries[wish]?.due == due else { continue }
            entries[wish]?.due = nil
            running += 1
            started.append(wish)
        }
        return started
    }

    /// Looking after one is over.
    mutating func ended(_ wish: AvatarDesk.Wish, _ outcome: Outcome, now: MonotonicTime) {
        guard var entry = entries[wish], entry.due == nil else { return }
        running -= 1
        let due: MonotonicTime
        switch outcome {
        case .fresh(let life), .failed(let life):
            due = now + max(life, Self.shortestLife)
            entry.pause = Self.firstPause
            entry.isInterrupted = false
        case .interrupted:
            due = now + entry.pause
            entry.pause = min(entry.pause * 2, Self.longestPause)
            entry.isInterrupted = true
        }
        entry.due = entry.isForgotten ? now : due
        entry.isForgotten = false
        entries[wish] = entry
        insert(wish, due: entry.due ?? due)
    }

    /// Starts nothing before this time.
    mutating func hold(until time: MonotonicTime) { heldUntil = time }

    /// The mirror has no more of these addresses, or forgot that they failed: they are due at once.
    mutating func forget(_ addresses: Set<AvatarAddress>, now: MonotonicTime) {
        for (wish, entry) in entries where addresses.contains(wish.address) {
            guard let due = entry.due else {
                entries[wish]?.isForgotten = true
                continue
            }
            if due <= now { continue }
            entries[wish] = Entry(due: now)
            insert(wish, due: now)
        }
    }

    /// What stood in the way may be gone: what was interrupted is due at once.
    mutating func retryInterrupted(now: MonotonicTime) {
        for (wish, entry) in entries where entry.isInterrupted && entry.due.map({ now < $0 }) ?? false {
            entries[wish]?.due = now
            entries[wish]?.pause = Self.firstPause
            insert(wish, due: now)
        }
    }

    /// When ``start(now:)`` may have something to give; nil where it won't before something ends or changes.
    var nextDue: MonotonicTime? {
        guard running < maximumRunning, let due = queue.first?.due else { return nil }
        return heldUntil.map { max($0, due) } ?? due
    }

    /// Times that are queued, older ones of the same picture among them.
    var queuedTimes: Int { queue.count }

    private mutating func insert(_ wish: AvatarDesk.Wish, due: MonotonicTime) {
        queue.insert(wish, due: due)
        // Most of what is in it are older times then.
        if queuedTimes <= 2 * entries.count + 64 { return }
        queue = DueQueue()
        for (wish, entry) in entries { if let due = entry.due { queue.insert(wish, due: due) } }
    }
}

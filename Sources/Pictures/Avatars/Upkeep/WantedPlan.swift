import LinuxSystem
import UploadCore

/// Decides which wanted pictures need a task, and when. A value without clock: callers pass in events and the time.
struct WantedPlan {
    /// The outcome of a task.
    enum Outcome: Equatable, Sendable {
        /// The picture is mirrored, and stays fresh for this long.
        case fresh(Duration)
        /// The picture is unavailable. Don't retry for this long.
        case failed(Duration)
        /// The task failed through no fault of the picture; retry later.
        case interrupted
    }

    /// Pause after the first interruption; doubles up to `longestPause`.
    static let firstPause = Duration.seconds(60)
    /// The longest pause after interruptions.
    static let longestPause = Duration.seconds(3600)
    /// Minimum interval between two tasks for a picture, even if its server says less.
    static let shortestLife = Duration.seconds(60)

    private struct Entry {
        /// nil while a task runs.
        var due: MonotonicTime?
        var pause = WantedPlan.firstPause
        var isInterrupted = false
        /// Whether the picture was removed while its task runs.
        var isForgotten = false
    }

    private let maximumRunning: Int
    private var entries: [AvatarWish: Entry] = [:]
    /// The wishes by due time, then by the order of their insertion.
    private struct Turn: Comparable {
        let due: MonotonicTime
        let number: UInt64

        static func < (left: Turn, right: Turn) -> Bool { (left.due, left.number) < (right.due, right.number) }
    }

    private var queue = DeadlineHeap<Turn, AvatarWish>()
    private var inserted: UInt64 = 0
    private var running = 0
    private var heldUntil: MonotonicTime?

    /// Creates an empty plan.
    ///
    /// - Parameter maximumRunning: Maximum number of concurrent tasks.
    init(maximumRunning: Int) {
        self.maximumRunning = maximumRunning
    }

    /// Replaces the wishes. Wishes that stay keep their due times.
    ///
    /// - Returns: Removed wishes with a running task.
    mutating func replace(_ wishes: [AvatarWish], now: MonotonicTime) -> [AvatarWish] {
        let wanted = Set(wishes)
        var stopped: [AvatarWish] = []
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

    /// Returns the wishes to start now. They count as running until ``ended(_:_:now:)``.
    mutating func start(now: MonotonicTime) -> [AvatarWish] {
        var started: [AvatarWish] = []
        if let heldUntil, now < heldUntil { return [] }
        while running < maximumRunning, let (turn, wish) = queue.pop(until: Turn(due: now, number: .max)) {
            // Skip outdated queue items: the picture has another due time now.
            guard entries[wish]?.due == turn.due else { continue }
            entries[wish]?.due = nil
            running += 1
            started.append(wish)
        }
        return started
    }

    /// Handles the end of a task.
    mutating func ended(_ wish: AvatarWish, _ outcome: Outcome, now: MonotonicTime) {
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

    /// Makes addresses due at once, because they were removed from the mirror or their failures were forgotten.
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

    /// Makes interrupted pictures due at once, because the obstacle may be gone.
    mutating func retryInterrupted(now: MonotonicTime) {
        for (wish, entry) in entries where entry.isInterrupted && entry.due.map({ now < $0 }) ?? false {
            entries[wish]?.due = now
            entries[wish]?.pause = Self.firstPause
            insert(wish, due: now)
        }
    }

    /// When ``start(now:)`` may next return wishes; nil if something must end or change first.
    var nextDue: MonotonicTime? {
        guard running < maximumRunning, let due = queue.first?.due else { return nil }
        return heldUntil.map { max($0, due) } ?? due
    }

    /// Number of queued items, including outdated ones.
    var queuedTimes: Int { queue.count }

    private mutating func insert(_ wish: AvatarWish, due: MonotonicTime) {
        push(wish, due: due)
        // Otherwise most items are outdated, so rebuild the queue.
        if queuedTimes <= 2 * entries.count + 64 { return }
        queue = DeadlineHeap()
        for (wish, entry) in entries { if let due = entry.due { push(wish, due: due) } }
    }

    private mutating func push(_ wish: AvatarWish, due: MonotonicTime) {
        inserted += 1
        queue.push(wish, at: Turn(due: due, number: inserted))
    }
}

import UploadCore

/// Which wanted pictures have to be fetched, and when. A value: it is told what happens and what time it is.
struct WantedPlan {
    /// How a fetch ended.
    enum Outcome: Equatable {
        /// It is mirrored, and the server need not be asked for this long.
        case fresh(Duration)
        /// It failed, and is not to be tried for this long.
        case failed(Duration)
        /// The network or the server is to blame, or memory ran low: it will do later.
        case interrupted
    }

    /// Pause after a first interruption; it doubles up to `longestPause`.
    static let firstPause = Duration.seconds(60)
    /// Also the shortest time between two looks at one picture, whatever its server says about freshness.
    static let longestPause = Duration.seconds(3600)
    /// No picture is looked at more often.
    static let shortestLife = Duration.seconds(60)

    private struct Entry {
        var due: MonotonicTime
        var isRunning = false
        var pause = WantedPlan.firstPause
    }

    private let maximumRunning: Int
    private var order: [AvatarDesk.Wish] = []
    private var entries: [AvatarDesk.Wish: Entry] = [:]
    private var running = 0

    /// Nothing is wanted.
    init(maximumRunning: Int) {
        self.maximumRunning = maximumRunning
    }

    /// Everything that is wanted now; what was there before keeps its place in time.
    ///
    /// - Returns: what is under way and no longer wanted.
    mutating func replace(_ wishes: [AvatarDesk.Wish], now: MonotonicTime) -> [AvatarDesk.Wish] {
        order = wishes
        let kept = Set(wishes)
        let dropped = entries.filter { !kept.contains($0.key) }
        for (wish, entry) in dropped {
            entries[wish] = nil
            if entry.isRunning { running -= 1 }
        }
        for wish in wishes where entries[wish] == nil { entries[wish] = Entry(due: now) }
        return dropped.filter(\.value.isRunning).map(\.key)
    }

    /// What has to be fetched now; it counts as running until ``ended(_:_:now:)``.
    mutating func start(now: MonotonicTime) -> [AvatarDesk.Wish] {
        var started: [AvatarDesk.Wish] = []
        for wish in order {
            if running >= maximumRunning { break }
            guard let entry = entries[wish], !entry.isRunning, entry.due <= now else { continue }
            entries[wish]?.isRunning = true
            running += 1
            started.append(wish)
        }
        return started
    }

    /// A fetch is over.
    mutating func ended(_ wish: AvatarDesk.Wish, _ outcome: Outcome, now: MonotonicTime) {
        guard var entry = entries[wish], entry.isRunning else { return }
        running -= 1
        entry.isRunning = false
        switch outcome {
        case .fresh(let life), .failed(let life):
            entry.due = now + max(life, Self.shortestLife)
            entry.pause = Self.firstPause
        case .interrupted:
            entry.due = now + entry.pause
            entry.pause = min(entry.pause * 2, Self.longestPause)
        }
        entries[wish] = entry
    }

    /// When ``start(now:)`` has something to give; nil where that depends on something else.
    var nextDue: MonotonicTime? {
        running >= maximumRunning ? nil : entries.values.lazy.filter { !$0.isRunning }.map(\.due).min()
    }
}

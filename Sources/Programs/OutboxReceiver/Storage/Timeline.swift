/// The index behind "newest first, a page at a time": items in the order of their keys, such as their times.
///
/// 24 bytes an item with a numeric key. The items of a page are found by position, so a page costs the same however
/// many items there are.
struct Timeline<Key: Comparable & Sendable>: Sendable {
    private var entries: [(key: Key, token: Hex128)] = []
    private var isSorted = true

    /// The items of one page, the newest first.
    struct Page: Equatable {
        let tokens: [Hex128]
        /// The `position` of the next page; nil if no item is older.
        let older: Int?
    }

    var count: Int { entries.count }

    mutating func add(_ token: Hex128, at key: Key) {
        if let last = entries.last, key < last.key { isSorted = false }
        entries.append((key, token))
    }

    mutating func remove(_ token: Hex128) {
        entries.removeAll { $0.token == token }
    }

    /// Sorts now rather than with the next page.
    mutating func sort() {
        guard !isSorted else { return }
        entries.sort { $0.key < $1.key }
        isSorted = true
    }

    /// Returns the newest items before a position.
    /// - Parameter position: The number of older items, so that it stays valid while new items arrive. Nil: no limit.
    mutating func page(before position: Int?, count: Int) -> Page {
        sort()
        let end = min(max(position ?? entries.count, 0), entries.count)
        let start = max(end - count, 0)
        return Page(tokens: entries[start..<end].reversed().map(\.token), older: start > 0 ? start : nil)
    }
}

/// Detects changes of the system's clock.
///
/// The receiver compares ages of several days across restarts, so an age is a difference of wall-clock readings. Some
/// machines set their clock only once they reach the network. Without a correction, everything would then look days
/// old.
struct ClockWatch {
    /// In seconds. A smaller difference is drift, or the time between two readings.
    private static let tolerance: Int64 = 600

    private var time: Int64
    private var uptime: Int64

    /// - Parameters:
    ///   - time: The system's clock, in seconds.
    ///   - uptime: A monotonic clock in seconds that also counts while the machine sleeps.
    init(time: Int64, uptime: Int64) {
        self.time = time
        self.uptime = uptime
    }

    /// A change of the clock.
    struct Jump {
        /// By how many seconds the clock was set forward; negative: set back.
        let seconds: Int64
        /// When the change was found, by the new clock.
        let foundAt: Int64
        /// The seconds since the reading before.
        let elapsed: Int64

        /// Returns a time of the old clock by the new one.
        func corrected(_ time: Int64) -> Int64 {
            // Noted between the change and its discovery.
            if (foundAt - elapsed...foundAt).contains(time) { return time }
            // A journal may have times from before an earlier change.
            return min(time + seconds, foundAt)
        }
    }

    /// Takes the next reading. Returns nil if the clock was not set since the last one.
    mutating func jump(time: Int64, uptime: Int64) -> Jump? {
        let elapsed = uptime - self.uptime
        let jump = Jump(seconds: time - self.time - elapsed, foundAt: time, elapsed: max(0, elapsed))
        self.time = time
        self.uptime = uptime
        return abs(jump.seconds) > Self.tolerance ? jump : nil
    }
}

public import UploadCore

/// URLs that are not asked for again for a while, since asking would answer the same.
///
/// A value: it decides by the clock that never steps, and shows the other one. It is not kept over restarts.
public struct Blacklist: Sendable {
    /// Why a URL is not asked for, and how long.
    public struct Verdict: Equatable, Sendable {
        /// What went wrong.
        public var fault: AvatarFault
        /// For people, one line.
        public var message: String
        /// Until when, for people.
        public var until: WallTime
    }

    /// How long a URL that failed stays.
    public var pause: Duration
    /// How many URLs are remembered at most; of more, those are forgotten whose time is over first.
    public static let capacity = 10_000

    private struct Entry {
        var verdict: Verdict
        var ends: MonotonicTime
    }

    private var entries: [AvatarAddress: Entry] = [:]

    /// An empty list.
    ///
    /// - Parameter pause: how long a URL that failed stays (`avatar_cache.retry_failed_after`).
    public init(pause: Duration) { self.pause = pause }

    /// Notes a failure.
    ///
    /// What the URL can't help lists nothing. A busy server that named a time is left alone for that long, but never
    /// longer than any other failure.
    ///
    /// - Returns: until when the URL is listed now; nil where it is not.
    @discardableResult
    public mutating func note(
        _ fault: AvatarFault, _ message: String, of address: AvatarAddress, now: Now
    ) -> WallTime? {
        let duration: Duration
        switch fault {
        case .status, .notAPicture, .tooLarge, .tooManyPixels, .killedWorker, .badRedirect: duration = pause
        case .serverBusy(let retryAfter): duration = min(retryAfter ?? .zero, pause)
        case .notItsFault: duration = .zero
        }
        if duration <= .zero { return nil }
        let until = now.wall.advanced(by: duration)
        entries[address] = Entry(
            verdict: Verdict(fault: fault, message: message, until: until), ends: now.monotonic + duration)
        if entries.count > Self.capacity { makeRoom(at: now.monotonic) }
        return until
    }

    /// Why a URL is not to be asked for now; nil where it may.
    public func verdict(on address: AvatarAddress, now: MonotonicTime) -> Verdict? {
        entries[address].flatMap { now < $0.ends ? $0.verdict : nil }
    }

    /// Everything that is listed now, ordered by URL.
    public mutating func list(now: MonotonicTime) -> [(address: AvatarAddress, verdict: Verdict)] {
        entries = entries.filter { now < $0.value.ends }
        return entries.map { ($0.key, $0.value.verdict) }.sorted { $0.0.url < $1.0.url }
    }

    /// Lets a URL be asked for at once: it was fetched after all, or somebody wants it forgotten.
    public mutating func forget(_ address: AvatarAddress) { entries[address] = nil }

    /// Lets all URLs be asked for at once.
    public mutating func forgetAll() { entries = [:] }

    private mutating func makeRoom(at now: MonotonicTime) {
        entries = entries.filter { now < $0.value.ends }
        let surplus = entries.count - Self.capacity
        if surplus <= 0 { return }
        // A tenth at once, so that a flood of failures does not sort the list each time.
        let first = entries.sorted { $0.value.ends < $1.value.ends }.prefix(surplus + Self.capacity / 10)
        for (address, _) in first { entries[address] = nil }
    }
}

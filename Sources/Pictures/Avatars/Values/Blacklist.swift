public import UploadCore

/// URLs that are temporarily not requested, because the answer would be the same.
///
/// A value. Decides by the monotonic clock, and only displays the wall clock. Lost at restart.
public struct Blacklist: Sendable {
    /// Why a URL is not requested, and for how long.
    public struct Verdict: Equatable, Sendable {
        /// The fault.
        public var fault: AvatarFault
        /// The failure for display, one line.
        public var message: String
        /// End of the entry, for display.
        public var until: WallTime
    }

    /// How long a failed URL stays on the list.
    public var pause: Duration
    /// Maximum number of entries; beyond that, those that end first are dropped.
    public static let capacity = 10_000

    private struct Entry {
        var verdict: Verdict
        var ends: MonotonicTime
    }

    private var entries: [AvatarAddress: Entry] = [:]

    /// Creates an empty list.
    ///
    /// - Parameter pause: How long a failed URL stays on the list (`avatar_cache.retry_failed_after`).
    public init(pause: Duration) { self.pause = pause }

    /// Records a failure.
    ///
    /// A failure that is not the URL's fault creates no entry. A busy server's requested pause is respected, but
    /// limited to the pause of other failures.
    ///
    /// - Returns: End of the new entry; nil if the URL is not listed.
    @discardableResult
    public mutating func note(
        _ fault: AvatarFault, _ message: String, of address: AvatarAddress, now: Now
    ) -> WallTime? {
        let duration: Duration
        switch fault {
        case .status, .notAPicture, .tooLarge, .tooManyPixels, .killedWorker, .badRedirect: duration = pause
        case .serverBusy(let retryAfter): duration = min(Backoff.requested(retryAfter) ?? .zero, pause)
        case .notItsFault: duration = .zero
        }
        if duration <= .zero { return nil }
        let until = now.wall.advanced(by: duration)
        entries[address] = Entry(
            verdict: Verdict(fault: fault, message: message, until: until), ends: now.monotonic + duration)
        if entries.count > Self.capacity { makeRoom(at: now.monotonic) }
        return until
    }

    /// The entry of a URL; nil if the URL may be requested.
    public func verdict(on address: AvatarAddress, now: MonotonicTime) -> Verdict? {
        entries[address].flatMap { now < $0.ends ? $0.verdict : nil }
    }

    /// All current entries, ordered by URL.
    public mutating func list(now: MonotonicTime) -> [(address: AvatarAddress, verdict: Verdict)] {
        entries = entries.filter { now < $0.value.ends }
        return entries.map { ($0.key, $0.value.verdict) }.sorted { $0.0.url < $1.0.url }
    }

    /// Removes a URL: it was fetched successfully, or a user cleared it.
    public mutating func forget(_ address: AvatarAddress) { entries[address] = nil }

    /// Removes all URLs.
    public mutating func forgetAll() { entries = [:] }

    private mutating func makeRoom(at now: MonotonicTime) {
        entries = entries.filter { now < $0.value.ends }
        let surplus = entries.count - Self.capacity
        if surplus <= 0 { return }
        // Removes a tenth at once, so that a flood of failures does not sort the list each time.
        let first = entries.sorted { $0.value.ends < $1.value.ends }.prefix(surplus + Self.capacity / 10)
        for (address, _) in first { entries[address] = nil }
    }
}

/// A small request beside the uploads: the commit of a post, or the profile picture.
///
/// Holds the request in flight, the failures in a row and the pause until the next attempt. The owner decides what to
/// send, and what each failure means.
struct Errand: Equatable, Sendable {
    /// A pause and its reason.
    struct Pause: Equatable, Sendable {
        /// When the pause ends.
        var until: MonotonicTime
        /// When the pause ends, for display.
        var nextAttemptAt: WallTime
        /// The failure that caused the pause.
        var error: FileError
    }

    /// The request in flight.
    private(set) var request: RequestID?
    /// Whether the request was cancelled. The next request waits for its end.
    private(set) var isGivenUp = false
    /// Consecutive failures.
    private(set) var failures = 0
    /// The pause until the next attempt.
    private(set) var pause: Pause?

    /// Whether the next request may begin.
    var isReady: Bool { request == nil && pause == nil }

    /// Whether a request is in flight whose answer counts.
    var isUnderWay: Bool { request != nil && !isGivenUp }

    mutating func begin(_ id: RequestID) { (request, isGivenUp) = (id, false) }

    /// Records the end of the request in flight.
    mutating func end() { (request, isGivenUp) = (nil, false) }

    /// Gives up the request in flight.
    ///
    /// - Returns: the request to cancel; nil if there is none.
    mutating func giveUp() -> RequestID? {
        guard isUnderWay else { return nil }
        isGivenUp = true
        return request
    }

    /// Counts a failure and pauses: for as long as given, or as the backoff says.
    mutating func fail(
        _ error: FileError, pause: Duration? = nil, atMost longest: Duration? = nil, backoff: inout Backoff, now: Now
    ) {
        failures += 1
        wait(pause ?? backoff.pause(afterFailures: failures, atMost: longest), error, now: now)
    }

    /// Pauses without counting a failure.
    mutating func wait(_ duration: Duration, _ error: FileError, now: Now) {
        pause = Pause(
            until: now.monotonic + duration, nextAttemptAt: now.wall.advanced(by: duration), error: error)
    }

    /// Ends the pause early, because its cause may be gone. Later pauses start over.
    ///
    /// - Returns: whether there was a pause.
    mutating func hurry() -> Bool {
        guard pause != nil else { return false }
        reset()
        return true
    }

    /// Forgets all failures. A request that was given up may still be in flight.
    mutating func reset() { (failures, pause) = (0, nil) }

    /// Ends the pause if it is over.
    ///
    /// - Returns: whether it ended.
    mutating func passDeadline(now: Now) -> Bool {
        guard let pause, pause.until <= now.monotonic else { return false }
        self.pause = nil
        return true
    }
}

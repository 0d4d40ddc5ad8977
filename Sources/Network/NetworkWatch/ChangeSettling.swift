/// Coalesces a burst of changes into one event: half a second after the last change, at most two seconds after the
/// first, and at least three seconds after the previous event. A plain value: the caller passes the time in
/// nanoseconds on a clock that never steps.
///
/// So the event for a restored network comes within 3 s. A network that changes all the time, for instance through
/// containers restarting in a loop, causes at most 20 attempts a minute.
struct ChangeSettling: Equatable, Sendable {
    static let quiet: UInt64 = 500_000_000
    static let longest: UInt64 = 2_000_000_000
    static let spacing: UInt64 = 3_000_000_000

    private var first: UInt64?
    private var last: UInt64 = 0
    private var told: UInt64?

    /// When the event is due; nil without pending changes.
    var deadline: UInt64? {
        guard let first else { return nil }
        return max(min(last + Self.quiet, first + Self.longest), told.map { $0 + Self.spacing } ?? 0)
    }

    /// Records a change.
    mutating func note(at now: UInt64) {
        if first == nil { first = now }
        last = now
    }

    /// Whether the event is due; if so, marks the event as reported.
    mutating func tell(at now: UInt64) -> Bool {
        guard let deadline, now >= deadline else { return false }
        first = nil
        told = now
        return true
    }
}

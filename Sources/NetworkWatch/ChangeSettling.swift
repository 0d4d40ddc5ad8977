/// Makes one event of a burst of changes: half a second after the last, at most two after the first, and never sooner
/// than three seconds after the event before. A value: time is passed in, nanoseconds on a clock that never steps.
///
/// So a network that is back is told within 3 s, and one that comes and goes all the time, containers that are
/// restarted in a loop for instance, makes no more than 20 attempts a minute.
struct ChangeSettling: Equatable, Sendable {
    static let quiet: UInt64 = 500_000_000
    static let longest: UInt64 = 2_000_000_000
    static let spacing: UInt64 = 3_000_000_000

    private var first: UInt64?
    private var last: UInt64 = 0
    private var told: UInt64?

    /// When the event is due; nil while there is nothing to tell.
    var deadline: UInt64? {
        guard let first else { return nil }
        return max(min(last + Self.quiet, first + Self.longest), told.map { $0 + Self.spacing } ?? 0)
    }

    /// Something changed.
    mutating func note(at now: UInt64) {
        if first == nil { first = now }
        last = now
    }

    /// Whether the event is due; it is told then.
    mutating func tell(at now: UInt64) -> Bool {
        guard let deadline, now >= deadline else { return false }
        first = nil
        told = now
        return true
    }
}

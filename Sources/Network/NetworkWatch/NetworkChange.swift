public import LinuxSystem

/// A change after which failed attempts may succeed, so that waiting is pointless.
public struct NetworkChange: Equatable, Sendable, CustomStringConvertible {
    /// The cause of a change, or several causes reported together.
    public struct Cause: OptionSet, Hashable, Sendable {
        /// One bit for each cause.
        public let rawValue: UInt8

        /// Creates a set of causes from bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Links, addresses or routes changed.
        public static let network = Cause(rawValue: 1)
        /// The machine woke from sleep.
        public static let resumed = Cause(rawValue: 2)
        /// The wall clock was set: a certificate may have become valid.
        public static let clockSet = Cause(rawValue: 4)
    }

    /// The causes of the change.
    public var causes: Cause
    /// Removed local addresses: connections bound to them are dead.
    public var goneAddresses: Set<IPAddress>
    /// Local addresses whose link lost and regained its carrier: packets sent to them meanwhile are lost.
    public var returnedAddresses: Set<IPAddress>

    /// Creates a change.
    public init(causes: Cause, goneAddresses: Set<IPAddress> = [], returnedAddresses: Set<IPAddress> = []) {
        self.causes = causes
        self.goneAddresses = goneAddresses
        self.returnedAddresses = returnedAddresses
    }

    /// Describes the change for the log.
    public var description: String {
        var words: [String] = []
        if causes.contains(.network) { words.append("the network changed") }
        if causes.contains(.resumed) { words.append("the machine woke from sleep") }
        if causes.contains(.clockSet) { words.append("the clock was set") }
        if !goneAddresses.isEmpty {
            words.append("gone: " + goneAddresses.map(\.description).sorted().joined(separator: ", "))
        }
        if !returnedAddresses.isEmpty {
            words.append("back: " + returnedAddresses.map(\.description).sorted().joined(separator: ", "))
        }
        return words.joined(separator: "; ")
    }
}

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

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

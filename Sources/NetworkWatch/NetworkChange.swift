/// Something happened after which waiting is pointless: what failed may work now.
public struct NetworkChange: Equatable, Sendable, CustomStringConvertible {
    /// What happened; several at once where they came together.
    public struct Cause: OptionSet, Hashable, Sendable {
        /// One bit for each.
        public let rawValue: UInt8

        /// Bits that stand for causes.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Links, addresses or routes are others than before.
        public static let network = Cause(rawValue: 1)
        /// The machine woke from sleep.
        public static let resumed = Cause(rawValue: 2)
        /// The wall clock was set: a certificate may be valid now.
        public static let clockSet = Cause(rawValue: 4)
    }

    /// What happened.
    public var causes: Cause
    /// Local addresses that are gone: connections bound to them are dead.
    public var goneAddresses: Set<IPAddress>
    /// Local addresses whose link lost its carrier and has it again: what was sent to them meanwhile is lost.
    public var returnedAddresses: Set<IPAddress>

    /// Puts a change together.
    public init(causes: Cause, goneAddresses: Set<IPAddress> = [], returnedAddresses: Set<IPAddress> = []) {
        self.causes = causes
        self.goneAddresses = goneAddresses
        self.returnedAddresses = returnedAddresses
    }

    /// In words, for the log.
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

/// How many files ended, and how many bytes need not be sent, by day: what the journal says, added up.
public struct OutcomeSums: Equatable, Sendable {
    /// The sums of some days.
    public struct Sum: Codable, Equatable, Sendable {
        /// Files that the server has.
        public var done = 0
        /// Bytes of these files.
        public var size: UInt64 = 0
        /// How often a file failed.
        public var failed = 0
        /// Bytes that smaller versions of files saved.
        public var savedByProducts: UInt64 = 0
        /// Bytes of files whose content the server had already.
        public var savedByDeduplication: UInt64 = 0

        private enum CodingKeys: String, CodingKey {
            case done, size, failed
            case savedByProducts = "saved_by_products"
            case savedByDeduplication = "saved_by_deduplication"
        }

        mutating func add(_ row: JournalRow) {
            if row.outcome == .failed { failed += 1 }
            guard row.outcome == .done else { return }
            done += 1
            let (size, sent) = (row.size ?? 0, row.sent?.size ?? row.size ?? 0)
            self.size += size
            savedByProducts += size - min(size, sent)
            if row.isDeduplicated { savedByDeduplication += min(size, sent) }
        }

        mutating func add(_ other: Sum) {
            (done, size, failed) = (done + other.done, size + other.size, failed + other.failed)
            savedByProducts += other.savedByProducts
            savedByDeduplication += other.savedByDeduplication
        }
    }

    private var days: [Int: Sum] = [:]
    /// The number of the last row added; 0 before the first.
    public private(set) var last: UInt64 = 0
    /// When the first of the rows was written; nil before it.
    public private(set) var since: WallTime?

    /// Creates sums of no row.
    public init() {}

    /// Adds a row.
    ///
    /// - Parameter day: the day of its time, counted from any one.
    public mutating func add(_ entry: JournalEntry, day: Int) {
        last = entry.number
        guard entry.row.subject == .file || entry.row.subject == .portrait else { return }
        since = since ?? entry.row.time
        days[day, default: Sum()].add(entry.row)
    }

    /// Returns the sums from a day on.
    public func sum(from day: Int = .min) -> Sum {
        days.reduce(into: Sum()) { sum, entry in if entry.key >= day { sum.add(entry.value) } }
    }
}

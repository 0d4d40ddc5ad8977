import UploadCore

/// What a drop counts as.
enum Tally: Equatable {
    /// A file or an outcome in this state.
    case state(FileState)
    /// The record of a former path, which only leads to the present one. Nobody sees it.
    case trace

    fileprivate var index: Int {
        switch self {
        case .state(let state): Int(state.code)
        case .trace: FileState.allCases.count
        }
    }
}

extension DropRecord {
    /// What the drop counts as.
    var tally: Tally { isTrace ? .trace : .state(state) }
}

/// The number of drops in each state, stored in `meta` with every transaction that changes it. So `status` reads one
/// record instead of every drop.
struct StateCounts: Equatable {
    static let key = Array("counts".utf8)

    /// By `FileState.code`, then the number of traces.
    private var numbers = [Int64](repeating: 0, count: FileState.allCases.count + 1)

    /// Counts no drop.
    init() {}

    /// Decodes stored numbers; returns nil for bytes of another form.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == numbers.count * 8 else { return nil }
        for index in numbers.indices {
            numbers[index] = bytes[index * 8..<(index + 1) * 8].reversed().reduce(0) { $0 << 8 | Int64($1) }
        }
        if !isValid { return nil }
    }

    subscript(tally: Tally) -> Int64 {
        get { numbers[tally.index] }
        set { numbers[tally.index] = newValue }
    }

    subscript(state: FileState) -> Int64 {
        get { self[.state(state)] }
        set { self[.state(state)] = newValue }
    }

    /// The numbers of states that are not zero.
    var byState: [FileState: Int] {
        var found: [FileState: Int] = [:]
        for state in FileState.allCases where self[state] != 0 { found[state] = Int(clamping: self[state]) }
        return found
    }

    /// Whether no number is negative.
    private var isValid: Bool { numbers.allSatisfy { $0 >= 0 } }

    /// Returns the numbers after a change; nil if the change does not fit these numbers.
    func adding(_ change: StateCounts) -> StateCounts? {
        var sum = self
        for index in numbers.indices {
            let (number, overflow) = numbers[index].addingReportingOverflow(change.numbers[index])
            if overflow { return nil }
            sum.numbers[index] = number
        }
        return sum.isValid ? sum : nil
    }

    /// Reads the stored numbers.
    ///
    /// - Returns: nil if none are stored; a failure if these are damaged.
    static func stored(
        in transaction: borrowing ReadTransaction
    ) throws(LMDBError) -> Result<StateCounts, LedgerError>? {
        guard let value = try LedgerSchema.value(key, in: transaction) else { return nil }
        return value.flatMap { bytes -> Result<StateCounts, LedgerError> in
            guard let counts = StateCounts(bytes) else { return .failure(.damagedRecord(table: .meta, key: key)) }
            return .success(counts)
        }
    }

    /// Counts all intact drops of the ledger.
    static func count(in transaction: borrowing ReadTransaction) throws(LMDBError) -> StateCounts {
        var counts = StateCounts()
        try transaction.scan(LedgerTable.drops.table, from: []) { key, value in
            if let outline = DropRecord.outline(in: value, key: Array(key)) { counts[outline.tally] += 1 }
            return true
        }
        return counts
    }

    func store(in transaction: borrowing WriteTransaction) throws(LMDBError) {
        var bytes: [UInt8] = []
        for number in numbers { withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) } }
        try LedgerSchema.put(bytes, Self.key, in: transaction)
    }
}

/// One transaction's change of the number of drops in each state.
struct StateChange {
    private var change = StateCounts()
    /// Whether a damaged drop was replaced or removed. Nobody can read its state: count all drops.
    private var isUnknown = false

    /// Adds the change of one drop.
    ///
    /// - Parameters:
    ///   - former: what the drop counted as; nil if the drop is new, a failure if the record was damaged.
    ///   - present: what the drop counts as now; nil if the drop was removed.
    mutating func add(from former: Result<Tally, LedgerError>?, to present: Tally?) {
        switch former {
        case .success(let former)?: change[former] -= 1
        case .failure?: isUnknown = true
        case nil: break
        }
        if let present { change[present] += 1 }
    }

    /// Stores the new numbers. Must be called after the last change of the transaction.
    func store(in transaction: borrowing WriteTransaction) throws(LMDBError) {
        if !isUnknown {
            if change == StateCounts() { return }
            if case .success(let stored)? = try StateCounts.stored(in: transaction.reading),
                let sum = stored.adding(change)
            {
                return try sum.store(in: transaction)
            }
        }
        try StateCounts.count(in: transaction.reading).store(in: transaction)
    }
}

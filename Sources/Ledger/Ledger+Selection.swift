public import UploadCore

extension Ledger {
    /// Returns the drops in some states, in no particular order, without traces (`DropRecord.isTrace`).
    ///
    /// With a limit, at most so many drops of each state: of final states, those that ended last. Decodes only drops that
    /// may be among them, and skips over the others.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of drops of each state; nil for all.
    ///   - paths: paths to leave out.
    public func drops(
        in states: Set<FileState>, atMost limit: Int? = nil, besides paths: Set<RelativePath> = []
    ) throws(LedgerError) -> [DropRecord] {
        // Old pages are not reused during a transaction.
        let mostRecords = 16_384
        var selection = DropSelection(states, limit: limit ?? .max)
        var next: [UInt8]? = []
        while let start = next, !selection.isComplete {
            next = nil
            var failures: [LedgerError] = []
            _ = try read { transaction throws(LMDBError) -> Result<Void, LedgerError>? in
                var count = 0
                try transaction.scan(LedgerTable.drops.table, from: start) { key, value in
                    count += 1
                    if selection.takes(value) {
                        switch DropRecord.decode(value, key: Array(key)) {
                        case .success(let record): if !paths.contains(record.path) { selection.insert(record) }
                        case .failure(let failure): failures.append(failure)
                        }
                    }
                    if count == mostRecords { next = Array(key) + [0] }
                    return count < mostRecords && !selection.isComplete
                }
                return nil
            }
            for failure in failures { damage.note(failure) }
        }
        return selection.drops
    }
}

/// Selects drops of some states: of each state at most `limit`, of final states those that ended last.
struct DropSelection {
    private let limit: Int
    private var isWanted = [Bool](repeating: false, count: FileState.allCases.count)
    private var found = [[DropRecord]](repeating: [], count: FileState.allCases.count)
    /// A drop of a final state must have ended after this time, in milliseconds.
    private var earliest = [Int64](repeating: .min, count: FileState.allCases.count)

    init(_ states: Set<FileState>, limit: Int) {
        self.limit = limit
        if limit > 0 { for state in states { isWanted[Int(state.code)] = true } }
    }

    /// Whether no further drop can be among those selected.
    var isComplete: Bool { !isWanted.contains(true) }

    /// Whether a record may be among those selected. Does not verify the record.
    func takes(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var decoder = RecordDecoder(unchecked: bytes)
        guard let outline = DropRecord.Outline(from: &decoder), case .state(let state) = outline.tally else {
            return false
        }
        let index = Int(state.code)
        return isWanted[index] && Self.end(outline.finishedAt) >= earliest[index]
    }

    mutating func insert(_ drop: DropRecord) {
        let index = Int(drop.state.code)
        found[index].append(drop)
        if !drop.state.isFinal {
            if found[index].count == limit { isWanted[index] = false }
        } else if found[index].count / 2 >= limit {
            cut(index)
        }
    }

    /// The selected drops, in no particular order.
    var drops: [DropRecord] {
        var selection = self
        for index in found.indices where found[index].count > limit { selection.cut(index) }
        return selection.found.flatMap(\.self)
    }

    private mutating func cut(_ index: Int) {
        found[index].sort { Self.end($0.finishedAt) > Self.end($1.finishedAt) }
        found[index].removeLast(found[index].count - limit)
        if let last = found[index].last { earliest[index] = Self.end(last.finishedAt) }
    }

    private static func end(_ time: WallTime?) -> Int64 { time?.milliseconds ?? .min }
}

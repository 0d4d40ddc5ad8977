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
        var selection = DropSelection(states, limit: limit ?? .max)
        try scanDrops { key, value, failures in
            if selection.takes(value) {
                switch DropRecord.decode(value, key: Array(key)) {
                case .success(let record): if !paths.contains(record.path) { selection.insert(record) }
                case .failure(let failure): failures.append(failure)
                }
            }
            return !selection.isComplete
        }
        return selection.drops
    }

    /// Returns a page of the drops that match, without traces, in the order of `DropPlace`, and the number of all drops
    /// that match by stored state.
    ///
    /// Decodes only drops that may be on the page, and holds no more than two pages of them.
    ///
    /// - Parameters:
    ///   - states: the stored states of the drops on the page. The counts include others.
    ///   - place: the place before the page; nil for the first page.
    ///   - count: the maximum number of drops.
    ///   - paths: paths to leave out.
    ///   - matches: whether the drop with this path matches.
    public func dropPage(
        in states: Set<FileState>, after place: DropPlace?, atMost count: Int, besides paths: Set<RelativePath>,
        where matches: (_ path: UnsafeRawBufferPointer) -> Bool
    ) throws(LedgerError) -> (drops: [DropRecord], counts: [FileState: Int]) {
        var page = DropPage(after: place, atMost: count)
        var counts: [FileState: Int] = [:]
        try scanDrops { key, value, failures in
            var decoder = RecordDecoder(unchecked: value)
            guard let outline = DropRecord.Outline(from: &decoder), case .state(let state) = outline.tally,
                matches(outline.path), paths.isEmpty || RelativePath(Array(outline.path)).map(paths.contains) != true
            else { return true }
            counts[state, default: 0] += 1
            let time = outline.finishedAt ?? outline.acceptedAt
            guard states.contains(state), page.takes(time: time.milliseconds) else { return true }
            switch DropRecord.decode(value, key: Array(key)) {
            case .success(let record): page.insert(record)
            case .failure(let failure): failures.append(failure)
            }
            return true
        }
        return (page.drops, counts)
    }

    /// Calls `body` with the key and the record of each drop until it returns false. `body` adds damaged records to
    /// `failures`.
    private func scanDrops(
        _ body: (
            _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ failures: inout [LedgerError]
        ) -> Bool
    ) throws(LedgerError) {
        // Old pages are not reused during a transaction.
        let mostRecords = 16_384
        var next: [UInt8]? = []
        while let start = next {
            next = nil
            var failures: [LedgerError] = []
            _ = try read { transaction throws(LMDBError) -> Result<Void, LedgerError>? in
                var count = 0
                try transaction.scan(LedgerTable.drops.table, from: start) { key, value in
                    count += 1
                    guard body(key, value, &failures) else { return false }
                    if count == mostRecords { next = Array(key) + [0] }
                    return count < mostRecords
                }
                return nil
            }
            for failure in failures { damage.note(failure) }
        }
    }
}

/// A place in the list of all drops, which begins with those that came or ended last.
public struct DropPlace: Hashable, Comparable, Sendable {
    /// When the drop ended, or came if it has not ended, in milliseconds since 1970.
    public let time: Int64
    /// The identifier of the drop's path, which orders drops of the same time.
    public let id: String

    /// Creates the place of a drop with this time and identifier.
    public init(time: Int64, id: String) {
        (self.time, self.id) = (time, id)
    }

    init(_ drop: DropRecord) {
        self.init(
            time: (drop.finishedAt ?? drop.acceptedAt).milliseconds, id: Ledger.identifier(of: drop.path))
    }

    /// Whether a place comes before another: later times come first.
    public static func < (left: DropPlace, right: DropPlace) -> Bool {
        (right.time, left.id) < (left.time, right.id)
    }
}

/// Collects the drops that follow a place, up to a number.
struct DropPage {
    private let start: DropPlace?
    private let count: Int
    private var found: [(place: DropPlace, drop: DropRecord)] = []
    /// Drops of an earlier time are not on the page.
    private var earliest = Int64.min

    init(after start: DropPlace?, atMost count: Int) {
        (self.start, self.count) = (start, count)
    }

    /// Whether a drop of this time may be on the page.
    func takes(time: Int64) -> Bool { time >= earliest && time <= start?.time ?? .max }

    mutating func insert(_ drop: DropRecord) {
        let place = DropPlace(drop)
        if let start, place <= start { return }
        found.append((place, drop))
        if found.count > 2 * count { cut() }
    }

    /// The drops on the page, in order.
    var drops: [DropRecord] {
        var page = self
        page.cut()
        return page.found.map(\.drop)
    }

    private mutating func cut() {
        found.sort { $0.place < $1.place }
        guard found.count > count else { return }
        found.removeLast(found.count - count)
        earliest = found.last?.place.time ?? earliest
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

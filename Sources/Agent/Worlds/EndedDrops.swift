import Ledger
import UploadCore

/// The paths in final states, as of one moment.
///
/// There may be a million, so `forEach` runs on a thread of its own while uploads continue.
struct EndedDrops: Sendable {
    private let ledger: Ledger
    /// Final records whose commits are not durable yet.
    private let recent: [DropRecord]
    /// Paths whose stored records are out of date.
    private let covered: Set<RelativePath>

    /// Creates a view.
    ///
    /// - Parameter active: the paths that are not in a final state.
    init(_ ledger: Ledger, unsaved: Unsaved, active: PathMap<DropRecord>) {
        self.ledger = ledger
        let records = unsaved.records
        recent = records.filter { $0.isEnded && active[$0.path] == nil }
        covered = Set(active.keys).union(records.map(\.path)).union(unsaved.forgotten)
    }

    /// Calls `body` with each record. Reads the ledger.
    func forEach(_ body: (DropRecord) -> Void) {
        for record in recent { body(record) }
        try? ledger.forEachDrop { record in
            if record.isEnded && !covered.contains(record.path) { body(record) }
            return true
        }
    }

    /// Counts the paths in each final state. Reads the ledger.
    func counts() -> [FileState: Int] {
        var counts: [FileState: Int] = [:]
        forEach { counts[$0.state, default: 0] += 1 }
        return counts
    }
}

extension DropRecord {
    fileprivate var isEnded: Bool { state.isFinal && !isTrace }
}

import Ledger
import Reports
import UploadCore

/// The paths that nothing is under way for, as of one moment: those in final states, and those whose uploads wait in
/// the backlog.
///
/// There may be a million, so `forEach` runs on a thread of its own while uploads continue.
struct RestingDrops: Sendable {
    private let ledger: Ledger
    /// Records whose commits are not durable yet.
    private let recent: [DropRecord]
    /// Paths whose stored records are out of date.
    private let covered: Set<RelativePath>
    /// The state of every upload in the backlog; `nil` if there is no backlog.
    private let backlog: UploadView?

    /// Creates a view.
    ///
    /// - Parameter active: the paths that are under way.
    init(_ ledger: Ledger, unsaved: Unsaved, active: PathMap<DropRecord>, backlog: UploadView?) {
        self.ledger = ledger
        self.backlog = backlog
        let records = unsaved.records
        recent = records.filter { active[$0.path] == nil }
        covered = Set(active.keys).union(records.map(\.path)).union(unsaved.forgotten)
    }

    /// Calls `body` with each record. Reads the ledger.
    func forEach(_ body: (DropRecord) -> Void) {
        for record in recent where isResting(record) { body(record) }
        try? ledger.forEachDrop { record in
            if isResting(record) && !covered.contains(record.path) { body(record) }
            return true
        }
    }

    private func isResting(_ record: DropRecord) -> Bool { !record.isTrace && shownState(record.state) != nil }

    /// Returns the state that reports of resting paths show for a stored state; `nil` if no path rests in it.
    private func shownState(_ stored: FileState) -> FileState? {
        if stored.isFinal { return stored }
        return stored == .queued ? backlog?.state : nil
    }

    /// Counts the paths by state. Asks the ledger for its counts, and for each path whose stored record is out of date.
    func counts() -> [FileState: Int] {
        var counts: [FileState: Int] = [:]
        for record in recent where isResting(record) { counts[record.state, default: 0] += 1 }
        counts.merge(storedCounts) { $0 + $1 }
        var shown: [FileState: Int] = [:]
        for (state, number) in counts { if let state = shownState(state) { shown[state, default: 0] += number } }
        return shown
    }

    /// The ledger's number of paths in each stored state, without those whose stored records are out of date.
    private var storedCounts: [FileState: Int] { (try? ledger.counts(besides: covered)) ?? [:] }

    /// Returns the reports of the paths in some states, in no particular order. Reads no record of another state.
    ///
    /// - Parameters:
    ///   - states: the states that reports show; `nil` for all.
    ///   - limit: the number of paths of each state that suffices, those that ended last; `nil` for all.
    func reports(in states: Set<FileState>?, atMost limit: Int?, _ context: ReportContext) -> [FileReport] {
        let isWanted = { (stored: FileState) in shownState(stored).map { states?.contains($0) ?? true } ?? false }
        let known = recent.filter { isResting($0) && isWanted($0.state) }
        let present = Set(storedCounts.filter { isWanted($0.key) && $0.value > 0 }.keys)
        let stored =
            present.isEmpty ? [] : (try? ledger.drops(in: present, atMost: limit, besides: covered)) ?? []
        return (known + stored).map { record in
            var report = context.report(record)
            if !record.state.isFinal, let backlog { context.describe(backlog, in: &report) }
            return report
        }
    }
}

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

    /// Whether a path in one of these states may be among them; `nil` for any state.
    func mayContain(_ states: Set<FileState>?) -> Bool {
        guard let states else { return true }
        return states.contains { $0.isFinal || $0 == backlog?.state }
    }

    /// Calls `body` with each record. Reads the ledger.
    func forEach(_ body: (DropRecord) -> Void) {
        for record in recent where isResting(record) { body(record) }
        try? ledger.forEachDrop { record in
            if isResting(record) && !covered.contains(record.path) { body(record) }
            return true
        }
    }

    private func isResting(_ record: DropRecord) -> Bool {
        record.state.isFinal ? !record.isTrace : backlog != nil && record.state == .queued
    }

    /// Counts the paths by state. Reads the ledger.
    func counts() -> [FileState: Int] {
        var counts: [FileState: Int] = [:]
        forEach { counts[$0.state.isFinal ? $0.state : backlog?.state ?? $0.state, default: 0] += 1 }
        return counts
    }

    /// Returns the reports of all paths, in no particular order. Reads the ledger.
    func reports(_ context: ReportContext) -> [FileReport] {
        var reports: [FileReport] = []
        forEach { record in
            var report = context.report(record)
            if !record.state.isFinal, let backlog { context.describe(backlog, in: &report) }
            reports.append(report)
        }
        return reports
    }
}

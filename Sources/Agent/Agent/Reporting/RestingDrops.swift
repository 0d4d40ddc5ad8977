import ControlAPI
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
    init(
        _ ledger: Ledger, unsaved: Unsaved, active: PathMap<DropRecord>, backlog: UploadView?
    ) {
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
    ///
    /// - Parameter stored: `storedCounts`, if the caller has it.
    func counts(stored: [FileState: Int]? = nil) -> [FileState: Int] {
        var counts: [FileState: Int] = [:]
        for record in recent where isResting(record) { counts[record.state, default: 0] += 1 }
        counts.merge(stored ?? storedCounts) { $0 + $1 }
        var shown: [FileState: Int] = [:]
        for (state, number) in counts { if let state = shownState(state) { shown[state, default: 0] += number } }
        return shown
    }

    /// The ledger's number of paths in each stored state, without those whose stored records are out of date.
    var storedCounts: [FileState: Int] { (try? ledger.counts(besides: covered)) ?? [:] }

    /// Returns reports of the paths that a client asks for, in no particular order. Reads no record of another state, or
    /// none outside of the directory.
    ///
    /// A query of a directory returns the reports of all paths there, also of other states and beyond the limit. A query
    /// of everything may return more reports than the limit.
    ///
    /// - Parameter stored: `storedCounts`, if the caller has it.
    func reports(
        _ query: ListQuery<FileState>, _ context: ReportContext, stored: [FileState: Int]? = nil
    ) -> [FileReport] {
        let records =
            query.directory == .root ? records(query, stored ?? storedCounts) : records(within: query.directory)
        return records.map { report($0, context) }
    }

    private func records(_ query: ListQuery<FileState>, _ storedCounts: [FileState: Int]) -> [DropRecord] {
        let isWanted = { (stored: FileState) in
            shownState(stored).map { query.states?.contains($0) ?? true } ?? false
        }
        var records = recent.filter { isResting($0) && isWanted($0.state) }
        var others: Set<FileState> = []
        for (state, count) in storedCounts where isWanted(state) && count > 0 {
            // Any paths of the backlog will do, but of those that ended, the latest.
            guard state.isFinal, let limit = query.limit else {
                others.insert(state)
                continue
            }
            let wanted = min(limit, count)
            let latest = (try? ledger.latestDrops(in: state, atMost: wanted, besides: covered)) ?? []
            if latest.count < wanted { others.insert(state) } else { records += latest }
        }
        if !others.isEmpty {
            records += (try? ledger.drops(in: others, atMost: query.limit, besides: covered)) ?? []
        }
        return records
    }

    /// Returns reports of a page of the paths, in order, and the number of paths by state that match directory and
    /// search. Goes through all records, and holds no more than two pages of them.
    func page(_ query: PageQuery, _ context: ReportContext) -> (reports: [FileReport], counts: [FileState: Int]) {
        let start = query.start.map { DropPlace(time: $0.time, id: $0.id) }
        var counts: [FileState: Int] = [:]
        var records: [DropRecord] = []
        for record in recent where isResting(record) && record.path.bytes.withUnsafeBytes(query.matches) {
            counts[record.state, default: 0] += 1
            records.append(record)
        }
        let wanted = FileState.allCases.filter { state in
            shownState(state).map { query.states?.contains($0) ?? true } ?? false
        }
        records.removeAll { !wanted.contains($0.state) }
        let stored = try? ledger.dropPage(
            in: Set(wanted), after: start, atMost: query.size, besides: covered, where: query.matches)
        counts.merge(stored?.counts ?? [:]) { $0 + $1 }
        var shown: [FileState: Int] = [:]
        for (state, number) in counts { if let state = shownState(state) { shown[state, default: 0] += number } }
        return ((records + (stored?.drops ?? [])).map { report($0, context) }, shown)
    }

    private func report(_ record: DropRecord, _ context: ReportContext) -> FileReport {
        var report = context.report(record)
        if !record.state.isFinal, let backlog { context.describe(backlog, in: &report) }
        return report
    }

    /// Returns the ledger's record of a path; `nil` if there is none, or if it is out of date.
    private func storedRecord(of path: RelativePath) -> DropRecord? {
        if covered.contains(path) { return nil }
        return try? ledger.drop(at: path)
    }

    /// Returns the records of paths in a directory, and of files that were dropped there and moved since.
    private func records(within directory: RelativePath) -> [DropRecord] {
        let known = Dictionary(recent.map { ($0.path, $0) }) { $1 }
        var found: [RelativePath: DropRecord] = [:]
        let take = { (record: DropRecord) in
            var record = record
            if case .movedAway(let target) = record.disposal {
                guard let moved = known[target] ?? storedRecord(of: target) else { return }
                record = moved
            }
            if isResting(record) { found[record.path] = record }
        }
        for record in recent where record.path.isWithin(directory) { take(record) }
        try? ledger.forEachDrop(
            within: directory,
            { record in
                if !covered.contains(record.path) { take(record) }
                return true
            })
        return Array(found.values)
    }
}

import Ledger
import Reports
import UploadCore

// Look-ups for queries and actions.
extension ReportWorld {
    // MARK: Paths

    /// Returns the path with an id; `nil` if no path has it.
    func path(withID id: String) -> RelativePath? {
        if let path = (try? core.stored.ledger.drop(withIdentifier: id))?.path, let record = record(of: path) {
            return record.path
        }
        // The ledger does not know paths that are still being written or hashed.
        let fresh = book.drops.values.lazy.filter { $0.key == nil }.map(\.path)
        return (Array(fresh) + core.stored.unsaved.records.map(\.path)).first { FileReport.id(of: $0) == id }
    }

    /// Returns the paths of a target, sorted; `nil` if no file has the id or key.
    ///
    /// - Parameter formerNames: leads to the present path of a renamed file.
    func paths(of target: ActionTarget, _ formerNames: FormerNames) -> [RelativePath]? {
        switch target {
        case .file(let id):
            let path = path(withID: id) ?? formerNames.path(withFormerID: id) { record(of: $0) != nil }
            return path.map { [$0] }
        case .upload(let key):
            let paths = records(of: key).map(\.path).sorted()
            return paths.isEmpty ? nil : paths
        }
    }

    /// Whether an action on many files is about this one. All others are in the wanted state already.
    func concerns(_ order: BulkAction, _ record: DropRecord) -> Bool {
        guard order.reaches(record, at: context.now), !record.isTrace else { return false }
        let isAll = order.directory == nil
        // A post below a directory is one unit.
        if !isAll, posts.directory(of: record) != nil { return false }
        switch (order.action, record.state) {
        case (.cancel, .failed): return true
        case (.cancel, _): return !record.state.isFinal && !(isAll && posts.isInDraft(record))
        case (.retry, .failed), (.retry, .cancelled), (.retry, .rejected):
            // Who names a directory means all its files. Retrying an old portrait would replace the newest one.
            return (!isAll || record.state == .failed) && !book.isPortrait(record.path)
                && !core.look(at: record.path).isGone
        case (.retry, _):
            return book.drops[record.path] != nil && report(of: record).state == .waiting
        case (.resume, _): return book.isPaused(record)
        case (.pause, _): return !record.state.isFinal && !book.isPaused(record)
        case (.first, _):
            return !record.state.isFinal && ![.uploading, .verifying].contains(report(of: record).state)
        case (.submit, _): return false
        }
    }

    /// Returns the records of the files with a content, or with a product of it, in no particular order.
    private func records(of key: ContentKey) -> [DropRecord] {
        let products = (try? core.stored.ledger.products(of: key)) ?? []
        let stored = ([key] + products).flatMap { (try? core.stored.records(of: $0)) ?? [] }
        let all = Set(book.drops.values.filter { $0.originalKey == key }.map(\.path)).union(stored.map(\.path))
        return all.compactMap(record).filter { $0.originalKey == key && !$0.isTrace }
    }

    // MARK: Reports

    /// Returns the report of the file with an id; `nil` if there is none.
    func report(withID id: String) -> FileReport? {
        guard let record = path(withID: id).flatMap(record) else { return nil }
        // The client asks for the path under which the file was dropped.
        if case .movedAway(let target) = record.disposal, let moved = report(at: target) { return moved }
        return report(of: record)
    }

    /// Returns the reports of the files with a content, sorted by path.
    func reports(of key: ContentKey) -> [FileReport] {
        records(of: key).map(report(of:)).sorted { $0.path < $1.path }
    }

    /// Returns the reports of all paths that are under way, in no particular order.
    func activeReports() -> [FileReport] { book.drops.values.map(report(of:)) }

    /// The paths that nothing is under way for.
    var resting: RestingDrops {
        RestingDrops(
            core.stored.ledger, unsaved: core.stored.unsaved, active: book.drops, backlog: machine.backlogView)
    }

    // MARK: Figures

    /// The figures of this moment, without the paths that nothing is under way for.
    ///
    /// - Parameter files: number of paths by state.
    func figures(files: [FileState: Int] = [:]) -> AgentStatus.Figures {
        AgentStatus.Figures(
            files: files, active: book.drops.count, uploads: machine.keys.count, requestsInFlight: requestCount,
            hashQueue: book.hashCount, bytesPerSecond: transfers.bytesPerSecond(at: now), left: bytesLeft,
            isPaused: machine.isPaused, hasScanned: book.hasScanned)
    }

    /// The bytes that files under way have to send, as far as their sizes are known, and the number of these files.
    private var bytesLeft: (bytes: UInt64, files: Int) {
        var left: (bytes: UInt64, files: Int) = (0, 0)
        for key in machine.keys {
            guard let size = machine.record(of: key)?.plan.size, let path = machine.waiters(of: key).first,
                let view = machine.view(of: key, from: path),
                view.state != .paused
            else { continue }
            left.bytes += size - min(size, view.acknowledgedBytes)
            left.files += 1
        }
        for record in book.drops.values where record.key == nil {
            left.bytes += record.identity?.size ?? 0
            left.files += 1
        }
        return left
    }

    /// The number of paths in the backlog. The ledger's counter makes this cheap; changes that are not durable yet may
    /// be missing.
    private var backlogCount: Int {
        guard machine.hasBacklog, let stored = (try? core.stored.ledger.counts())?[.queued] else { return 0 }
        return max(0, stored - book.drops.values.count { $0.state == .queued && $0.key != nil })
    }

    /// Counts the paths that are under way by the state in their reports.
    func activeCounts() -> [FileState: Int] {
        var counts: [FileState: Int] = [:]
        for record in book.drops.values { counts[report(of: record).state, default: 0] += 1 }
        return counts
    }

    /// Counts the paths that are in no final state by the state in record and upload machine. Cheaper than
    /// `activeCounts`, and includes the backlog.
    func roughCounts() -> [FileState: Int] {
        var counts: [FileState: Int] = [:]
        for record in book.drops.values {
            let view = record.key.flatMap { machine.view(of: $0, from: record.path) }
            counts[view?.state ?? record.state, default: 0] += 1
        }
        if let state = machine.backlogView?.state { counts[state, default: 0] += backlogCount }
        return counts
    }
}

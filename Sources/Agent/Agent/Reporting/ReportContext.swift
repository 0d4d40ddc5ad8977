import Reports
import UploadCore

/// Makes reports from ledger records alone.
struct ReportContext: Sendable {
    let remoteProtocol: String
    let now: WallTime

    /// Returns a report with everything a record holds. The upload machine knows more about uploads under way.
    func report(_ record: DropRecord) -> FileReport {
        var report = FileReport(
            path: record.path, state: record.state, remoteProtocol: remoteProtocol, acceptedAt: record.acceptedAt,
            updatedAt: now)
        report.key = record.originalKey
        report.product = record.product
        if record.product?.made != nil { report.productKey = record.key }
        report.type = record.type
        report.size = record.identity?.size
        report.facts = record.facts ?? MediaFacts()
        report.deduplicated = record.deduplicated
        report.attempts = record.attempts
        report.error = record.error
        report.startedAt = record.startedAt
        report.finishedAt = record.finishedAt
        if case .moved(let old) = record.disposal { report.movedFrom = old }
        if record.state == .done, let size = report.sentSize {
            let count = FragmentPlan(size: size).count
            report.fragments = .init(total: count, finished: count)
            report.progress = 1
            report.remote = record.remote ?? RemoteObject(id: nil, url: nil)
        }
        return report
    }

    /// Returns what a row of the journal tells of a file.
    func report(_ row: JournalRow) -> FileReport {
        let state = row.outcome.state ?? .done
        var report = FileReport(
            path: row.path, state: state, remoteProtocol: remoteProtocol, acceptedAt: row.taken ?? row.time,
            updatedAt: row.time)
        report.key = row.key
        report.type = MediaType(mime: row.type)
        report.size = row.size
        report.productKey = row.sent?.key
        report.error = row.error
        report.remote = row.remote
        report.deduplicated = row.isDeduplicated
        report.finishedAt = row.time
        if state == .done {
            let count = FragmentPlan(size: row.sent?.size ?? row.size ?? 0).count
            report.fragments = .init(total: count, finished: count)
            report.progress = 1
        }
        return report
    }

    /// Returns what a row of the journal tells of a post.
    func report(ofPost row: JournalRow) -> SourceReport {
        let state = row.outcome.state ?? .done
        var report = SourceReport(
            id: row.remote.id ?? "", directory: row.path, state: .file(state), acceptedAt: row.taken ?? row.time,
            updatedAt: row.time)
        report.revision = row.revision
        report.url = row.remote.url
        report.error = row.error
        report.finishedAt = row.time
        if state == .done { report.progress = 1 }
        return report
    }

    /// Fills in the state of a path that waits for an upload in the backlog.
    func describe(_ backlog: UploadView, in report: inout FileReport) {
        report.state = backlog.state
        report.nextAttemptAt = backlog.nextAttemptAt
        report.error = backlog.error
        report.fragments = .init(total: FragmentPlan(size: report.sentSize ?? 0).count, finished: 0)
        report.progress = 0
    }
}

extension FileReport.Fragments {
    init(_ progress: FragmentProgress) { self.init(total: progress.total, finished: progress.finished) }
}

extension FileReport {
    /// Fills in the progress of an upload that the upload machine does not hold, from its ledger record.
    mutating func describe(_ upload: UploadRecord, _ acknowledged: FragmentSet) {
        let bytes = upload.plan.bytes(in: acknowledged)
        fragments = .init(FragmentProgress(upload.plan, acknowledged: acknowledged, bytes: bytes))
        progress = min(1, Double(bytes) / Double(max(1, upload.plan.size)))
        attempts = upload.attempts
        remote.id = upload.handle?.knownName
    }
}

import Reports
import UploadCore

/// What the agent knows of files and posts at one moment, for reports and queries.
///
/// A read-only view, for the thread of the core.
struct ReportWorld {
    let core: AgentCore
    /// The last report of each profile picture under way.
    let portraits: [RelativePath: PortraitReport]
    let transfers: TransferFigures
    /// The number of requests in progress.
    let requestCount: Int
    let context: ReportContext
    let now: MonotonicTime

    var book: PathBook { _read { yield core.book } }
    var posts: Posts { _read { yield core.posts } }
    var machine: UploadMachine { _read { yield core.machine } }

    /// Returns the record of a path: the path book's, else the ledger's, including pending changes.
    func record(of path: RelativePath) -> DropRecord? { core.record(of: path) }

    /// Returns the full report of a path; `nil` if the path is unknown.
    func report(at path: RelativePath) -> FileReport? { record(of: path).map(report(of:)) }

    /// Returns the full report of a path.
    func report(of record: DropRecord) -> FileReport {
        var report = context.report(record)
        if !record.state.isFinal { describeProgress(of: record, in: &report) }
        if !posts.isEmpty { describeHold(of: record, in: &report) }
        return report
    }

    private func describeProgress(of record: DropRecord, in report: inout FileReport) {
        if record.key != nil, book.ownership.isParked(record.account) {
            describeParked(record, in: &report)
        } else if record.state == .settling || record.state == .hashing || record.state == .processing {
            if record.state == .processing {
                let progress = book.processingProgress(of: record.path)
                report.progress = progress?.share ?? 0
                report.error = progress?.obstacle
            }
            if record.state == .settling, book.elsewhere.contains(record.path) { report.describeMissing() }
            if record.state == .settling, let wait = book.waitToRead(record.path) {
                report.state = .waiting
                (report.error, report.nextAttemptAt) = (wait.error, wait.nextAttemptAt)
            }
            if book.isPaused(record) { report.state = .paused }
            if record.state == .hashing { report.hashed = book.bytesHashed(of: record.path) }
        } else if let portrait = portraits[record.path] {
            report.describe(portrait)
        } else if let key = record.key {
            describeUpload(of: key, record, in: &report)
        }
    }

    private func describeUpload(of key: ContentKey, _ record: DropRecord, in report: inout FileReport) {
        if let view = machine.view(of: key, from: record.path) {
            report.describe(view)
            guard view.state == .uploading else { return }
            report.bytesPerSecond = transfers.bytesPerSecond(of: key, at: now)
            report.bytesInFlight = transfers.bytesInFlight(of: key)
        } else if record.state == .queued, !machine.holds(key), let backlog = machine.backlogView {
            context.describe(backlog, in: &report)
        }
    }

    /// Adds to a report that the path waits for its owner.
    private func describeParked(_ record: DropRecord, in report: inout FileReport) {
        if record.state != .paused {
            report.state = .signedOut
            report.error = .otherAccount(book.ownership.absentOwner(record.account) ?? "")
        }
        if let entry = core.parked.entry(for: record.path) { report.describe(entry.record, entry.acknowledged) }
    }
}

extension FileReport {
    /// Fills in the state of an upload that the upload machine holds.
    fileprivate mutating func describe(_ view: UploadView) {
        state = view.state
        fragments = .init(view.fragments)
        if let size = sentSize, size > 0 { progress = min(Double(view.acknowledgedBytes) / Double(size), 1) }
        remote.id = view.remoteID
        attempts = view.attempts
        nextAttemptAt = view.nextAttemptAt
        error = view.error
        deduplicated = view.joinedLater
    }

    /// Fills in the state of a file of another outbox.
    fileprivate mutating func describeMissing() {
        state = .waiting
        error = FileError(
            code: "file_missing", message: "the file is in the former outbox, which is not here now", retryable: true)
    }

    /// Fills in the state of a profile picture that the portrait's service sends.
    fileprivate mutating func describe(_ portrait: PortraitReport) {
        state = portrait.state
        error = portrait.error
        attempts = portrait.attempts
        nextAttemptAt = portrait.nextAttemptAt
        startedAt = portrait.startedAt
    }
}

extension FileError {
    /// The error of a file or source that waits until its account signs in.
    static func otherAccount(_ account: String) -> FileError {
        let message = "it belongs to \(account), and continues once \(account) signs in: outbox login --user \(account)"
        return FileError(code: "other_account", message: message, retryable: true)
    }
}

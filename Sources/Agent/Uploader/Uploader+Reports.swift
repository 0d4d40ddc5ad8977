import AgentConfiguration
import ControlAPI
import Logging
import Remotes
import Reports
import Sidecars
import UploadCore

// Reports about paths.
extension Uploader {
    /// Announces every path that waits for a content.
    func announce(_ key: ContentKey) {
        for path in machine.waiters(of: key) {
            if let record = book.drops[path] { announce(record) }
        }
    }

    /// Reports one path: sidecar, event, log, and soon its post. Nothing follows from a report.
    func announce(_ record: DropRecord) {
        let report = makeReport(record)
        if hasPlaceForSidecar(record.path) { parts.sidecars.note(report) }
        if events.publish(report) { log(report) }
        if let directory = posts.directory(of: record) { reportSoon(directory) }
    }

    /// Logs the outcome of a file.
    private func log(_ report: FileReport) {
        for line in status.logLines(for: report, at: now.monotonic) {
            parts.logger.log(
                level: Logger.Level(rawValue: line.level.rawValue) ?? .info, "\(line.message)",
                metadata: line.metadata.mapValues { .string($0) })
        }
    }

    /// Returns the full report of a path.
    func makeReport(_ record: DropRecord) -> FileReport {
        var report = reportContext.report(record)
        if !record.state.isFinal, record.key != nil, ownership.isParked(record.account) {
            describeParked(record, in: &report)
        } else if record.state == .settling || record.state == .hashing {
            if book.isPaused(record) { report.state = .paused }
            if record.state == .hashing { report.hashed = book.bytesHashed(of: record.path) }
        } else if let told = portraits[record.path], !record.state.isFinal {
            describe(told, in: &report)
        } else if let key = record.key, !record.state.isFinal, let view = machine.view(of: key, from: record.path) {
            describe(view, key, in: &report)
        }
        if !posts.isEmpty { describeHold(record, in: &report) }
        return report
    }

    /// What a report of a path in a final state needs besides the record.
    var reportContext: ReportContext {
        ReportContext(traits: parts.remote.traits, remoteProtocol: parts.remoteProtocol, now: now.wall)
    }

    private func describe(_ view: UploadView, _ key: ContentKey, in report: inout FileReport) {
        report.state = view.state
        report.fragments = .init(total: view.fragmentsTotal, finished: view.fragmentsFinished)
        if let size = report.size, size > 0 {
            report.progress = min(Double(view.acknowledgedBytes) / Double(size), 1)
        }
        report.remote.id = view.remoteID
        report.attempts = view.attempts
        report.nextAttemptAt = view.nextAttemptAt
        report.error = view.error
        report.deduplicated = view.joinedLater
        if view.state == .uploading {
            report.bytesPerSecond = runner.bytesPerSecond(of: key)
            report.bytesInFlight = runner.bytesInFlight(of: key)
        }
    }
}

extension FileReport {
    /// Fills in the progress of an upload that the upload machine does not hold, from its ledger record.
    mutating func describe(_ upload: UploadRecord, _ acknowledged: FragmentSet) {
        fragments = .init(total: upload.plan.count, finished: acknowledged.count)
        let bytes = UInt64(acknowledged.count) * UInt64(upload.plan.fragmentSize)
        progress = min(1, Double(bytes) / Double(max(1, upload.plan.size)))
        attempts = upload.attempts
        remote.id = upload.remoteID
    }
}

/// Makes reports from ledger records alone.
struct ReportContext: Sendable {
    let traits: RemoteTraits
    let remoteProtocol: String
    let now: WallTime

    /// Returns a report with everything a record holds. The upload machine knows more about uploads under way.
    func report(_ record: DropRecord) -> FileReport {
        var report = FileReport(
            path: record.path, state: record.state, remoteProtocol: remoteProtocol, acceptedAt: record.acceptedAt,
            updatedAt: now)
        report.key = record.key
        report.type = record.type
        report.size = record.identity?.size
        report.facts = record.facts ?? MediaFacts()
        report.deduplicated = record.deduplicated
        report.attempts = record.attempts
        report.error = record.error
        report.startedAt = record.startedAt
        report.finishedAt = record.finishedAt
        if case .moved(let old) = record.disposal { report.movedFrom = old }
        if record.state == .done, let size = report.size {
            let count = traits.plan(for: size).count
            report.fragments = .init(total: count, finished: count)
            report.progress = 1
            report.remote = record.remote ?? RemoteObject(id: nil, url: nil)
        }
        return report
    }
}

import ControlAPI
import Reports
import Sidecars
import UploadCore

// Reports about sources.
extension Uploader {
    /// Minimum interval between two progress reports of sources.
    static let sourcePace = Duration.milliseconds(250)

    /// Returns the id of the source that contains a path.
    func sourceID(of path: RelativePath) -> String? {
        sources.directory(above: path).flatMap { sources[$0]?.record.id }
    }

    /// Records a change of a source's file. Changes within a short interval share one report.
    func noteChange(of directory: RelativePath) {
        let isFirst = changedSources.isEmpty
        changedSources.insert(directory)
        guard isFirst else { return }
        sourcesDue = now.monotonic + Self.sourcePace
        setAlarm()
    }

    /// Reports the changed sources, if the report is due.
    func reportChangedSources() {
        guard let due = sourcesDue, due <= now.monotonic else { return }
        sourcesDue = nil
        let directories = changedSources
        changedSources = []
        for directory in directories { report(source: directory) }
    }

    func report(source directory: RelativePath) {
        guard let report = sourceReport(directory) else { return }
        if hasPlaceForSidecar(SourcePlaces.description(of: directory)) { parts.sidecars.note(source: report) }
        events.publish(source: report)
    }

    /// Returns the full report of a source; `nil` if the directory is not a source.
    func sourceReport(_ directory: RelativePath) -> SourceReport? {
        guard let entry = sources[directory] else { return nil }
        let files = SourceReport.names(of: entry.machine).compactMap { self.report(at: directory.appending($0.bytes)) }
        var report = SourceReport(entry.machine, files: files, now: now.wall)
        guard entry.record.isUnderWay else { return report }
        if let account = ownership.absentOwner(entry.record.account) {
            report.end(as: .signedOut, .otherAccount(account))
        } else if machine.isPaused {
            report.state = .file(.paused)
        } else if let error = machine.signedOut, !entry.record.isPaused {
            report.end(as: .signedOut, error)
        } else if case .committing = entry.record.stage, !entry.record.isPaused {
            describeCommit(entry.record.id, in: &report)
        }
        return report
    }

    private func describeCommit(_ id: String, in report: inout SourceReport) {
        report.state = .file(.verifying)
        guard let view = machine.commitView(of: id) else { return }
        report.state = .file(view.state)
        report.nextAttemptAt = view.nextAttemptAt
        report.error = view.error
    }

    /// Adds to a file's report that its source holds the file.
    func describeHold(_ record: DropRecord, in report: inout FileReport) {
        guard let directory = source(of: record), let entry = sources[directory] else { return }
        report.source = entry.record.id
        guard report.state == .paused, !book.isPaused(record), !machine.isPaused, !entry.record.isPaused else { return }
        switch entry.record.stage {
        case .collecting, .uploading, .committing: report.state = .queued
        case .rejected(let error):
            let message = "the post \(directory) is rejected: \(error.message)"
            report.error = FileError(code: "source_rejected", message: message, retryable: false)
        case .draft, .done, .failed, .cancelled: break
        }
    }
}

extension FileError {
    /// The error of a file or source that waits until its account signs in.
    static func otherAccount(_ account: String) -> FileError {
        let message = "it belongs to \(account), and continues once \(account) signs in: outbox login --user \(account)"
        return FileError(code: "other_account", message: message, retryable: true)
    }
}

import ControlAPI
import Reports
import Sidecars
import UploadCore

// Reports about posts.
extension Uploader {
    /// Returns the id of the post that contains a path.
    func sourceID(of path: RelativePath) -> String? {
        posts.directory(above: path).flatMap { posts[$0]?.record.id }
    }

    /// Reports a post soon. Changes within a short interval share one report.
    func reportSoon(_ directory: RelativePath) {
        if posts.noteProgress(of: directory, now: now.monotonic) { setAlarm() }
    }

    func report(post directory: RelativePath) {
        guard let report = sourceReport(directory) else { return }
        if hasPlaceForSidecar(PostPlaces.description(of: directory)) { parts.sidecars.note(source: report) }
        events.publish(source: report)
    }

    /// Returns the full report of a source; `nil` if the directory is not a source.
    func sourceReport(_ directory: RelativePath) -> SourceReport? {
        guard let post = posts[directory] else { return nil }
        let record = post.record
        let files = SourceReport.names(of: post).compactMap { self.report(at: directory.appending($0.bytes)) }
        var report = SourceReport(post, files: files, now: now.wall)
        guard record.isUnderWay else { return report }
        if let account = ownership.absentOwner(record.account) {
            report.end(as: .signedOut, .otherAccount(account))
        } else if machine.isPaused {
            report.state = .file(.paused)
        } else if let error = machine.signedOut, !record.isPaused {
            report.end(as: .signedOut, error)
        } else if case .committing = record.stage, !record.isPaused {
            describeCommit(record.id, in: &report)
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
        guard let directory = posts.directory(of: record), let post = posts[directory]?.record else { return }
        report.source = post.id
        guard report.state == .paused, !book.isPaused(record), !machine.isPaused, !post.isPaused else { return }
        switch post.stage {
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

import Reports
import UploadCore

// Reports of posts.
extension ReportWorld {
    /// Returns the full report of a post; `nil` if the directory is not a post.
    func report(ofPost directory: RelativePath) -> SourceReport? {
        guard let post = posts[directory] else { return nil }
        let record = post.record
        let files = SourceReport.names(of: post).compactMap { self.report(at: directory.appending($0.bytes)) }
        var report = SourceReport(post, files: files, now: context.now)
        guard record.isUnderWay else { return report }
        if let account = book.ownership.absentOwner(record.account) {
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

    /// Returns the report of a post that leaves the outbox after its files (`intake.after_upload`); `nil` if the
    /// directory is not a post.
    func report(ofPost directory: RelativePath, movedTo target: RelativePath) -> SourceReport? {
        guard var report = self.report(ofPost: directory) else { return nil }
        report.directory = target
        report.files = report.files.map { file in
            guard case .movedAway(let target)? = record(of: file.path)?.disposal else { return file }
            return self.report(at: target) ?? file
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

    /// Adds to a file's report that its post holds the file.
    func describeHold(of record: DropRecord, in report: inout FileReport) {
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

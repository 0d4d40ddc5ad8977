import AgentConfiguration
import Ledger
import Reports
import Sidecars
import UploadCore

// Carries out the decisions about files and posts that leave the outbox (`intake.after_upload`).
extension Uploader {
    /// Begins to move or delete a file whose content the server confirmed, unless a thumbnail or a post needs the file.
    func retire(_ path: RelativePath) {
        guard parts.afterUpload != .keep, !hasStopped, let record = record(of: path), record.disposal == .pending,
            thumbnails?.hold(record) != true, !posts.keeps(record)
        else { return }
        handle(.retirement(path, .confirmed))
    }

    func carryOut(_ step: RetirementStep, on path: RelativePath) {
        switch step {
        case .commit(let writes): commit(writes) { $0.handle(.retirement(path, .durable)) }
        case .store(let writes): process([], writes: writes)
        case .reportStuck(let errno):
            guard status.problems[.afterUpload] == nil else { return }
            status.problems[.afterUpload] = retirer.describeProblem(path, errno: errno)
        case .reportWorking: status.problems[.afterUpload] = nil
        case .take, .check, .findName, .release, .delete, .putBack:
            if let answer = retirer.perform(step, on: path) { handle(.retirement(path, answer)) }
        }
    }

    /// After a full scan: puts back files that need not be held any more, and retries files that could not leave.
    func retireStuck() {
        recoverHeldFiles()
        for path in book.retirement.takeStuck() { retire(path) }
    }

    /// Puts back held files that are not being handled.
    func recoverHeldFiles() { retirer.recover(except: book.retirement.held) }

    /// Puts back all held files before the agent ends.
    func putBackHeldFiles() {
        book.retirement.letGo()
        recoverHeldFiles()
    }

    /// Moves or deletes the `source.toml` of a confirmed post after its files.
    func retire(post directory: RelativePath) {
        guard let departure = retirer.retire(post: directory) else { return }
        let destination: RelativePath? = if case .moved(let target) = departure { target.parent } else { nil }
        let report = destination.flatMap { reports.report(ofPost: directory, movedTo: $0) }
        handle(posts: .retired(directory))
        if let destination, retirer.moveSidecar(ofPost: directory, to: destination) { return }
        parts.sidecars.remove(source: directory)
        if let report { parts.sidecars.note(source: report) }
    }
}

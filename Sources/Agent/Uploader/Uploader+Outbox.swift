import Intake
import Ledger
import Logging
import UploadCore

// Whether the outbox is still the same directory. If it is another one, or the empty mount point of an absent medium,
// the files of the old outbox do not count as removed: `book.elsewhere` holds them.
extension Uploader {
    /// Whether the outbox is missing, or is another directory than in the last run.
    var isOtherOutbox: Bool { knownOutbox.map { parts.files.identity != $0 } ?? false }

    /// Compares the outbox with the one of the last run.
    func recogniseOutbox() {
        guard isOtherOutbox, parts.files.identity != nil else { return }
        handle(.outboxBack(isSame: false, descriptions: posts.descriptions))
        handle(posts: .outboxBack(isSame: false))
        outboxWasExchanged()
    }

    /// Logs how many waiting paths are not in this outbox. The agent waits for them.
    func outboxWasExchanged() {
        guard !book.elsewhere.isEmpty else { return }
        parts.logger.warning(
            "the outbox is another directory than before; the agent waits for missing files and cancels none",
            metadata: ["outbox": "\(parts.files.root)", "files": "\(book.elsewhere.count)"])
    }

    /// Handles the findings of a full scan. If no path is missing any more, this outbox becomes the known one.
    func foundInOutbox(_ findings: any ScanFindings) {
        let descriptions = Set(posts.descriptions)
        book.findElsewhere(findings, isPost: descriptions.contains)
        reporter.writeWithheld(reports)
        guard book.elsewhere.isEmpty, let identity = parts.files.identity, identity != knownOutbox else { return }
        knownOutbox = identity
        process([], writes: [.setting(LedgerSetting.outbox, identity)])
    }
}

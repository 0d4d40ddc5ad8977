import Intake
import Ledger
import Logging
import UploadCore

// Whether the outbox is still the same directory. If it is another one, or the empty mount point of an absent medium,
// the files of the old outbox do not count as removed: `book.elsewhere` holds them.
extension Uploader {
    /// Compares the outbox with the one of the last run.
    func recogniseOutbox() {
        guard let present = parts.files.identity, knownOutbox.differs(from: present) else { return }
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

    /// Handles the findings of a full scan.
    func foundInOutbox(_ findings: any ScanFindings) {
        let descriptions = Set(posts.descriptions)
        book.findElsewhere(findings, facts: world, isPost: descriptions.contains)
        reporter.writeWithheld(reports)
        let writes = knownOutbox.adopt(parts.files.identity, awaitsFiles: !book.elsewhere.isEmpty)
        if !writes.isEmpty { process([], writes: writes) }
    }
}

import Ledger
import LinuxSystem
import Logging
import UploadCore

// Whether the outbox is the directory it was. In another one, or in the empty mount point of a medium that is away, the
// old one's files are not removed: they are book.elsewhere.
extension Uploader {
    /// Whether the outbox is not there, or another directory than in the last run.
    var isOtherOutbox: Bool { knownOutbox.map { parts.files.identity != $0 } ?? false }

    /// Compares the outbox with that of the last run.
    func recogniseOutbox() {
        guard isOtherOutbox, parts.files.identity != nil else { return }
        handle(.outboxBack(isSame: false, descriptions: sourceDescriptions))
        outboxWasExchanged()
    }

    /// The paths that wait count as being elsewhere until they are found.
    func outboxWasExchanged() {
        sourcesElsewhere.formUnion(sources.directories)
        guard !book.elsewhere.isEmpty else { return }
        parts.logger.warning(
            "the outbox is another directory than before; files that are not in it are waited for, not cancelled",
            metadata: ["outbox": "\(parts.files.root)", "files": "\(book.elsewhere.count)"])
    }

    /// After a full scan: what was found is here, and with nothing missing this is the outbox from now on.
    func foundInOutbox(_ findings: any ScanFindings) {
        let descriptions = Set(sourceDescriptions)
        book.findElsewhere(findings, isPost: descriptions.contains)
        writeWithheldSidecars()
        guard book.elsewhere.isEmpty, let identity = parts.files.identity, identity != knownOutbox else { return }
        knownOutbox = identity
        process([], writes: [.setting(Setting.outbox, identity)])
    }

    /// Whether a sidecar may be written beside a path: not while its file is on a file system that is not mounted, or in
    /// another outbox. It would end up in the empty mount point. Remembers to write it later.
    func hasPlaceForSidecar(_ path: RelativePath) -> Bool {
        guard book.isMissing(path), parts.sidecars.standBesideFiles else { return true }
        withheldSidecars.insert(path)
        return false
    }

    private func writeWithheldSidecars() {
        let paths = withheldSidecars
        withheldSidecars = []
        for path in paths where hasPlaceForSidecar(path) {
            if let directory = sourceDirectory(of: path), sources[directory] != nil {
                report(source: directory)
            } else if let record = record(of: path), !record.isTrace {
                parts.sidecars.note(makeReport(record))
            }
        }
    }
}

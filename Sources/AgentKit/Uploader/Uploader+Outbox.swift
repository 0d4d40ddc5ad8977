import Ledger
import LinuxSystem
import Logging
import UploadCore

// Whether the outbox is the directory it was. In another one, or in the empty mount point of a medium that is away, the
// old one's files are not removed: they are elsewhere.
extension Uploader {
    /// Compares the outbox with that of the last run.
    func recogniseOutbox() throws(LedgerError) {
        knownOutbox = try parts.ledger.setting(Setting.outbox)
        guard let knownOutbox, let identity = parts.files.identity, knownOutbox != identity else { return }
        outboxWasExchanged()
    }

    /// The paths that wait count as being elsewhere until they are found.
    func outboxWasExchanged() {
        elsewhere.formUnion(drops.keys + sourceDescriptions)
        guard !elsewhere.isEmpty else { return }
        parts.logger.warning(
            "the outbox is another directory than before; files that are not in it are waited for, not cancelled",
            metadata: ["outbox": "\(parts.files.root)", "files": "\(elsewhere.count)"])
    }

    /// After a full scan: what was found is here, and with nothing missing this is the outbox from now on.
    func foundInOutbox(_ isThere: (RelativePath) -> Bool) {
        let descriptions = Set(sourceDescriptions)
        elsewhere = elsewhere.filter { (drops[$0] != nil || descriptions.contains($0)) && !isThere($0) }
        guard elsewhere.isEmpty, let identity = parts.files.identity, identity != knownOutbox else { return }
        knownOutbox = identity
        process([], writes: [.setting(Setting.outbox, identity)])
    }
}

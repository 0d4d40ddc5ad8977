import Ledger
import UploadCore

// Acknowledgements of fragments. They are frequent and do not wait for the disk: a log that survives a kill keeps
// them until the ledger stores them (see `AcknowledgementLog`).
extension Uploader {
    /// Adds a decision to the log of acknowledgements, if it concerns nothing but acknowledged fragments.
    ///
    /// - Returns: whether the log holds it.
    func logAcknowledgements(_ events: [MachineEvent], _ writes: [LedgerWrite]) -> Bool {
        var entries: [AcknowledgementLog.Entry] = []
        for event in events {
            guard case .acknowledged(_, let key, let fragment, nil, _) = event,
                let upload = machine.record(of: key)
            else { return false }
            entries.append(AcknowledgementLog.Entry(fragment: fragment, of: upload))
        }
        let isQuiet = writes.allSatisfy { if case .fragments = $0 { true } else { false } }
        return !entries.isEmpty && !writes.isEmpty && isQuiet && parts.acknowledgements.append(entries)
    }

    /// Writes logged acknowledgements to the ledger. Nothing waits for this commit.
    func commitQuietly(_ writes: [LedgerWrite]) {
        commits.beginQuietly()
        parts.ledger.commit(writes) { [weak self] in
            self?.run { uploader in
                if uploader.commits.endQuietly() { uploader.parts.acknowledgements.clear() }
            }
        }
    }

    /// Performs at once the actions that depend on no commit in progress. The others wait for those commits.
    func performReady(_ actions: [MachineAction]) {
        let ready = actions.filter(commits.isReady)
        let others = actions.filter { !commits.isReady($0) }
        perform(ready)
        if !others.isEmpty { commit([]) { $0.perform(others) } }
    }
}

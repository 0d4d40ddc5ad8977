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
        quietCommitsUnderWay += 1
        parts.ledger.commit(writes) { [weak self] in
            self?.run { uploader in
                uploader.quietCommitsUnderWay -= 1
                if uploader.quietCommitsUnderWay == 0 { uploader.parts.acknowledgements.clear() }
            }
        }
    }

    /// Performs at once the actions that depend on no commit in progress. The others wait for those commits.
    func performReady(_ actions: [MachineAction]) {
        guard commitsUnderWay > 0 else { return perform(actions) }
        perform(actions.filter(isReady))
        let others = actions.filter { !isReady($0) }
        if !others.isEmpty { commit([]) { $0.perform(others) } }
    }

    private func isReady(_ action: MachineAction) -> Bool {
        switch action {
        case .send(_, let key, _, _): undurable[key] == nil
        case .finish(_, let keys): keys.allSatisfy { undurable[$0] == nil }
        case .changed, .allChanged, .commitChanged, .serverTrouble, .write: true
        case .register, .resume, .remove, .commit, .cancel, .ended, .commitEnded, .takeAgain: false
        }
    }

    /// Counts down the commits in progress for an upload.
    func settle(_ key: ContentKey) {
        guard let count = undurable[key] else { return }
        undurable[key] = count > 1 ? count - 1 : nil
    }
}

extension LedgerWrite {
    /// The upload whose stored state this write changes. Requests about this upload must wait for the commit.
    var changedUpload: ContentKey? {
        switch self {
        case .upload(let record): record.key
        case .forgetUpload(let key), .forgetFragments(let key), .digests(let key, _), .fragments(let key, _): key
        case .park(let key), .unpark(let key, _): key
        case .drop, .forgetDrop, .confirmation, .forgetConfirmation, .forgetParked, .source, .forgetSource, .setting:
            nil
        }
    }
}

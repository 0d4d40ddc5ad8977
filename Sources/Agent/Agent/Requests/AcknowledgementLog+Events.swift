import Ledger
import UploadCore

extension AcknowledgementLog {
    /// Adds the acknowledged fragments of a decision, if the decision concerns nothing else. The ledger may then store
    /// them later: acknowledgements are frequent, and must not wait for the disk.
    ///
    /// - Parameters:
    ///   - events: the events of the upload machine.
    ///   - writes: the changes that followed.
    ///   - upload: returns the present record of an upload.
    /// - Returns: whether the log holds them.
    func append(
        _ events: [MachineEvent], _ writes: [LedgerWrite], _ upload: (ContentKey) -> UploadRecord?
    ) -> Bool {
        var entries: [Entry] = []
        for event in events {
            guard case .acknowledged(_, let key, let fragment, nil, _) = event, let upload = upload(key) else {
                return false
            }
            entries.append(Entry(fragment: fragment, of: upload))
        }
        let isQuiet = writes.allSatisfy { if case .fragments = $0 { true } else { false } }
        return !entries.isEmpty && !writes.isEmpty && isQuiet && append(entries)
    }
}

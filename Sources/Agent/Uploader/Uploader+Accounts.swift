import Ledger
import Logging
import Remotes
import Reports
import Session
import UploadCore

// Ownership of files. If a file's owner is not signed in, the file keeps its progress and nothing of it is sent.
extension Uploader {
    /// Keeps an upload parked, unless no path waits for it.
    ///
    /// - Returns: further changes for the ledger.
    func keepParked(_ entry: ParkedUploads.Entry) -> [LedgerWrite] {
        parked.add(entry) ? [] : [.forgetParked(entry.record.key, entry.record.scope)]
    }

    /// Resumes the parked uploads of the present account and keeps the others parked.
    func restoreParked(_ waiters: inout [ContentKey: [RestoredWaiter]]) throws(LedgerError) -> [LedgerWrite] {
        var entries: [(entry: ParkedUploads.Entry, receipts: [Int: String])] = []
        try parts.ledger.forEachParked({ record, acknowledged, receipts in
            entries.append((ParkedUploads.Entry(record: record, acknowledged: acknowledged), receipts))
            return true
        })
        var writes: [LedgerWrite] = []
        for (entry, receipts) in entries {
            let record = entry.record
            if record.scope == parts.remote.scope, let paths = waiters.removeValue(forKey: record.key) {
                writes.append(.unpark(record.key, record.scope))
                machine.restore(
                    record, acknowledged: entry.acknowledged, receipts: receipts, waiters: paths, now: now)
            } else {
                writes += keepParked(entry)
            }
        }
        return writes
    }
}

import Ledger
import UploadCore

// The journal: a change that makes a state final brings its row along, in the same commit.
extension AgentCore {
    /// Returns the rows for what these changes end, and the new places of files that ended earlier.
    func journalWrites(of writes: [LedgerWrite]) -> [LedgerWrite] {
        var added: [LedgerWrite] = []
        var told: [RelativePath: DropRecord] = [:]
        var posts: Set<String> = []
        for write in writes {
            switch write {
            case .drop(let record) where record.state.isFinal:
                let known = told[record.path] ?? stored.record(of: record.path)
                told[record.path] = record
                if let write = journalWrite(of: record, after: known) { added.append(write) }
            case .source(let record) where record.finishedAt == now.wall && posts.insert(record.id).inserted:
                if let row = JournalRow(record) { added.append(outcome(row)) }
            default: break
            }
        }
        return added
    }

    /// Gives a row its number.
    func outcome(_ row: JournalRow) -> LedgerWrite {
        let last = lastOutcome ?? stored.asked { () throws(LedgerError) in try sources.ledger.journalEnd() } ?? 0
        lastOutcome = last + 1
        return .outcome(JournalEntry(number: last + 1, row: row))
    }

    /// - Parameter known: the path's record until now.
    private func journalWrite(of record: DropRecord, after known: DropRecord?) -> LedgerWrite? {
        switch record.disposal {
        // The file itself has not ended again.
        case .moved: return nil
        case .movedAway(let target): return known?.disposal == record.disposal ? nil : .place(record.path, now: target)
        case .pending, .deleted, nil: break
        }
        // All else that a record learns comes later than its end.
        guard record.finishedAt == now.wall,
            known.map({ $0.state != record.state || $0.finishedAt != record.finishedAt }) ?? true
        else { return nil }
        return JournalRow(record, isPortrait: book.isPortrait(record.path), sha256: sha256(of: record))
            .map(outcome)
    }

    /// The digest of an upload that is about to be forgotten, if the agent computed it.
    private func sha256(of record: DropRecord) -> StrongDigest? {
        guard record.state == .done, let key = record.key else { return nil }
        if let upload = machine.record(of: key) { return upload.sha256 }
        return stored.asked { () throws(LedgerError) in try stored.upload(of: key) }?.sha256
    }
}

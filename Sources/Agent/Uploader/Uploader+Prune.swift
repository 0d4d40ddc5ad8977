import Intake
import Ledger
import Reports
import Sidecars
import UploadCore

// Removal of entries whose files are gone.
extension Uploader {
    /// Forgets vanished files after their retention. Confirmations of the server are kept.
    func prune() async -> PruneReport {
        guard isWholeOutbox else { return PruneReport() }
        // This must come first: the sidecars of entries forgotten below would look like strays until they are
        // removed.
        let strays = await pruneStrays()
        var over: [DropRecord] = []
        let wall = now.wall
        forEachStoredDrop { record in
            let path = record.path
            guard book.drops[path] == nil, !book.isRetiring(path), !book.isAway(path), parts.files.isGone(path)
            else { return }
            if record.isPrunable(at: wall, retention: parts.retention) { over.append(record) }
        }
        var report = PruneReport(sidecars: strays, entries: over.count)
        for record in over {
            if parts.sidecars.isThere(for: record.path) { report.sidecars += 1 }
            handle(.forget(record.path))
        }
        await parts.ledger.commit([])
        await parts.sidecars.flush()
        return report
    }
}

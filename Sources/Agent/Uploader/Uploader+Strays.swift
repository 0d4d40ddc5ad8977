import Ledger
import LinuxSystem
import Reports
import Sidecars
import UploadCore

// Carries out what follows from the search for strays.
extension Uploader {
    /// What `StraySearch` may ask at this moment.
    private var strayWorld: StrayWorld { StrayWorld(paths: world, book: book, posts: posts, outbox: knownOutbox) }

    /// Searches for strays after a full scan.
    func sweepSidecars() {
        if !hasStopped { strays.begin(strayWorld) }
    }

    func handle(_ news: StraySearch.News) {
        // After `leftFormerPlace` the former sidecars are gone. So the ledger stores the new place even while the agent ends.
        if case .found = news, hasStopped { return }
        carryOut(strays.handle(news, strayWorld))
    }

    private func carryOut(_ steps: [StraySearch.Step]) {
        reportLedgerTrouble()
        for step in steps {
            switch step {
            case .cancelRemoved(let path): handle(.strayFound(path))
            case .discard(let stray): parts.sidecars.discard(stray)
            case .write(let write): process([], writes: [write])
            }
        }
    }

    /// Removes strays, and forgets vanished files after their retention. Confirmations of the server stay.
    func prune() async -> PruneReport {
        guard strayWorld.isWholeOutbox else { return PruneReport() }
        // Strays come first: until the sidecars of the entries forgotten below are removed, they look like strays.
        let search = strays.search(away: book.lostMounts)
        let found = await withCheckedContinuation { continuation in
            reader.run { continuation.resume(returning: search()) }
        }
        let steps = StraySearch.steps(for: found, strayWorld)
        carryOut(steps)
        let expired = strayWorld.expired(at: now.wall, retention: parts.retention)
        var report = PruneReport(sidecars: steps.count, entries: expired.count)
        for path in expired {
            if parts.sidecars.isThere(for: path) { report.sidecars += 1 }
            handle(.forget(path))
        }
        await parts.ledger.commit([])
        await parts.sidecars.flush()
        return report
    }
}

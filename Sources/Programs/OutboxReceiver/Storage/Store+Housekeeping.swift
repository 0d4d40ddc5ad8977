import Logging
import Synchronization
import SystemPackage

extension Store {
    /// Runs every few minutes: expires old entries and keeps the journal short.
    func keepHouse() {
        noticeClock()
        expire()
        recountStored()
        do {
            let (catalog, lines, isUnwritable) = withBooks { ($0.catalog, $0.journal.lines, $0.journal.isUnwritable) }
            // Counting locks each upload, so it must come after the books are free.
            if isUnwritable || lines > 10_000 + 2 * catalog.entryCount { try compactJournal() }
        } catch {
            logger.error("cannot rewrite the journal", metadata: ["error": "\(error)"])
        }
    }

    /// Drops uploads without new blocks for ``Catalog/memory`` seconds, and forgets ids that were finished before
    /// that.
    func expire() {
        let oldest = now() - Catalog.memory
        for upload in open where upload.lastActivity < oldest {
            logger.info(
                "upload expired",
                metadata: ["id": "\(upload.id)", "user": "\(upload.plan.user)", "name": "\(upload.plan.quotedName)"])
            drop(upload)
        }
        withBooks { $0.catalog.forgetFinished(before: oldest) }
        removeFormerPortraits()
    }

    /// Releases the space promised to uploads that receive no bytes.
    func lapseReservations() {
        let oldest = now() - Reservations.patience
        let silent = open.filter { $0.lastActivity < oldest }.map(\.id)
        withBooks { books in
            for id in silent { books.catalog.lapse(id) }
        }
    }

    /// Recounts the stored bytes for the quota, without contents removed from `objects/`.
    func recountStored() {
        guard limits.haveQuotas else { return }
        let gone = withBooks { Array($0.catalog.contents.values) }.filter { !objects.holds($0) }.map(\.token)
        withBooks { $0.catalog.recount(without: Set(gone)) }
        do throws(Errno) {
            try tree.recount { limits.quota(of: $0) != nil }
        } catch {
            logger.error("cannot count names for the quota", metadata: ["error": "\(error)"])
        }
    }

    private func noticeClock() {
        guard let jump = clock.withLock({ $0.jump(time: now(), uptime: uptime()) }) else { return }
        logger.notice("the system's clock was set", metadata: ["seconds": "\(jump.seconds)"])
        for upload in open { upload.correctActivity(after: jump) }
        withBooks { books in
            books.catalog.correctTimes(after: jump)
            books.catalog.portraits.correctTimes(after: jump)
        }
        do {
            // The journal still has the times of the old clock.
            try compactJournal()
        } catch {
            logger.error("cannot rewrite the journal", metadata: ["error": "\(error)"])
        }
    }

    /// Rewrites the journal with the entries still needed. Requests continue meanwhile.
    func compactJournal() throws(Errno) {
        // Two rewrites at a time would write the same file.
        try compacting.locked { () throws(Errno) in try rewriteJournal() }
    }

    private func rewriteJournal() throws(Errno) {
        let (catalog, length, lines) = withBooks { ($0.catalog, $0.journal.length, $0.journal.lines) }
        // Entries appended from now on are copied from the old journal. Some may already be in the new one, which is
        // harmless: replaying an entry twice, in order, gives the same result.
        let rewrite = try Journal.rewrite(catalog.forEachEntry, in: root)
        let remaining = try withBooks { books throws(Errno) in
            try books.journal.replace(by: rewrite, copyingFrom: length, lines: books.journal.lines - lines)
            return books.journal.lines
        }
        logger.info("journal rewritten", metadata: ["lines before": "\(lines)", "lines": "\(remaining)"])
    }
}

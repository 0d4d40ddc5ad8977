import Logging
import Synchronization
import SystemPackage

extension Store {
    /// What is to be done every few minutes: forgets what is old, and keeps the journal short.
    func keepHouse() {
        noticeClock()
        expire()
        recountStored()
        do {
            let isLong = withBooks { $0.journal.lines > 10_000 + 2 * $0.catalog.entryCount }
            if isLong { try compactJournal() }
        } catch {
            logger.error("cannot write the journal anew", metadata: ["error": "\(error)"])
        }
    }

    /// Drops uploads that got nothing for ``Catalog/memory`` seconds and the ids of files finished before that.
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

    /// Space that was promised to uploads no byte comes for is anybody's again.
    func lapseReservations() {
        let oldest = now() - Reservations.patience
        let silent = open.filter { $0.lastActivity < oldest }.map(\.id)
        withBooks { books in
            for id in silent { books.catalog.lapse(id) }
        }
    }

    /// A quota does not count what was removed from `objects/`.
    func recountStored() {
        guard limits.quota != nil else { return }
        let gone = withBooks { Array($0.catalog.contents.values) }.filter { !objects.holds($0) }.map(\.token)
        withBooks { $0.catalog.recount(without: Set(gone)) }
    }

    private func noticeClock() {
        let jump = clock.withLock { $0.jump(time: now(), uptime: uptime()) }
        guard jump != 0 else { return }
        logger.notice("the system's clock was set", metadata: ["seconds": "\(jump)"])
        for upload in open { upload.shiftActivity(by: jump) }
        withBooks { books in
            books.catalog.shiftFinished(by: jump)
            books.catalog.portraits.shift(by: jump)
        }
        do {
            // The journal has the times by the old clock.
            try compactJournal()
        } catch {
            logger.error("cannot write the journal anew", metadata: ["error": "\(error)"])
        }
    }

    /// Writes the journal anew with what is still needed. Requests go on meanwhile.
    func compactJournal() throws(Errno) {
        // Two at a time would write the same file.
        let outcome: Result<Void, Errno> = compacting.withLock { _ in
            do throws(Errno) { return .success(try rewriteJournal()) } catch { return .failure(error) }
        }
        try outcome.get()
    }

    private func rewriteJournal() throws(Errno) {
        let (catalog, length, lines) = withBooks { ($0.catalog, $0.journal.length, $0.journal.lines) }
        // What happens from here on is copied from the old journal. That some of it may be in the new one already
        // does no harm: replaying an entry twice, in order, ends the same.
        let rewrite = try Journal.rewrite(catalog, in: root)
        let outcome: Result<Int, Errno> = withBooks { books in
            do throws(Errno) {
                try books.journal.replace(by: rewrite, copyingFrom: length, lines: books.journal.lines - lines)
                return .success(books.journal.lines)
            } catch {
                return .failure(error)
            }
        }
        let remaining = try outcome.get()
        logger.info("journal written anew", metadata: ["lines before": "\(lines)", "lines": "\(remaining)"])
    }
}

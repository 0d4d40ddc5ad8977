import AgentSupport
import ControlAPI
import Intake
import Ledger
import LedgerCare
import LinuxSystem
import Portrait
import Remotes
import Session
import Sidecars
import UploadCore

// Start from the ledger, and orderly end.
extension Uploader {
    /// Restores the state from the ledger and continues.
    ///
    /// All changes are durable on return, because the watch asks the ledger which files are known.
    ///
    /// - Parameter reconsider: asks the watch to let a path settle again.
    func start(reconsider: @escaping @Sendable (RelativePath) -> Void) async throws(LedgerError) {
        self.reconsider = reconsider
        recoverHeldFiles()
        let settings = try RestoredSettings(
            parts.ledger, account: parts.session.account, server: parts.remote.scope.server,
            rules: parts.rules.fingerprint, hasPauseMark: parts.pauseMark?.isSet == true)
        knownOutbox = KnownOutbox(settings.outbox)
        status.problems[.ledgerLost] = settings.recoveryNotice
        parts.pauseMark?.set(settings.isPaused)
        // Nothing may begin before everything is restored.
        commit(try restore(settings))
        // The machine reads the queue next: uploads that return to their owner must be in it.
        await parts.ledger.commit([])
        recogniseOutbox()
        let isSignedOut = parts.session.isSignedOut
        process(settings.events(posts.gatherAll(), isSignedOut: isSignedOut), writes: settings.writes)
        if isSignedOut { perform(SessionSteps.signedOut) }
        startPosts()
        if !isSignedOut { takeOverNobodys() }
        report(book.drops.keys)
        for record in book.drops.values { examine(record) }
        reportBacklog()
        await parts.ledger.commit([])
        startPortrait()
        parts.acknowledgements.clear()
    }

    /// Takes over the queue of the last run.
    ///
    /// - Returns: changes for the ledger.
    private func restore(_ settings: RestoredSettings) throws(LedgerError) -> [LedgerWrite] {
        let sources = Restoration.Sources(
            ledger: parts.ledger, acknowledgements: parts.acknowledgements, files: parts.files,
            sidecars: parts.sidecars, rules: parts.rules, scope: parts.remote.scope, trouble: ledgerTrouble, now: now,
            logger: parts.logger)
        var lastRun = try Restoration(sources, settings, book: book, posts: posts, machine: machine)
        // Reports of files name their posts and owners.
        (book, posts) = (lastRun.book, lastRun.posts)
        let world = reports
        lastRun.restoreDrops { step in
            switch step {
            case .repairSidecar(let record): parts.sidecars.repair(world.report(of: record))
            case .removeSidecar(let path): parts.sidecars.remove(path)
            case .examine(let record): examine(record)
            }
        }
        try lastRun.restoreUploads()
        (book, machine, parked) = (lastRun.book, lastRun.machine, lastRun.parked)
        return lastRun.writes
    }

    /// Reports the paths of the backlog that have no sidecar. A kill may have prevented it.
    private func reportBacklog() {
        guard machine.hasBacklog, book.elsewhere.isEmpty else { return }
        let resting = reports.resting
        reader.run { [weak self, sidecars = parts.sidecars] in
            var missing: [RelativePath] = []
            resting.forEach { record in
                if !record.state.isFinal, !sidecars.isThere(for: record.path) { missing.append(record.path) }
            }
            self?.run { [missing] in $0.report(missing) }
        }
    }

    /// Starts the portrait service with the pictures that were under way when the agent ended.
    private func startPortrait() {
        portraits.service?.start(
            PortraitOutlets(
                report: { [weak self] report in self?.run { $0.take(report) } },
                reconsider: { [weak self] path in self?.run { $0.handle(.lookAgain(path)) } },
                sessionRefused: { [weak self] error in self?.run { $0.perform(SessionSteps.portraitRefused(error)) } },
                announce: { [events] _, profile in events.publish(profile: profile) }),
            isAllPaused: machine.isPaused)
    }

    private func take(_ report: PortraitReport) {
        if let event = portraits.take(report, record(of: report.path), book) { handle(event) }
    }

    /// Gives up requests in progress and makes all changes durable. No work is lost. Runs before any other work in
    /// the uploader's queue.
    nonisolated func stop() async {
        beginToEnd()
        parts.hashPool.stop()
        await withCheckedContinuation { continuation in
            thread.runFirst {
                self.assumeIsolated { $0.giveUp() }
                continuation.resume()
            }
        }
        await parts.portrait?.service.stop()
        // A supervisor's patience is limited, and on a full disk the ledger may never finish. What it already holds is
        // enough to continue.
        _ = await TimeLimit.wait(.seconds(3)) { [parts] in
            // The ledger reports earlier commits before this call returns, since they are queued on the same thread.
            await parts.ledger.commit([])
            await parts.hashPool.finish()
            await parts.sidecars.flush()
        }
    }

    private func giveUp() {
        process([.stop])
        putBackHeldFiles()
        alarm.cancel()
        parts.session.stopWatching()
        runner.cancelAll()
    }
}

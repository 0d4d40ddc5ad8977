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
        runner.reconsider = reconsider
        perform([.recoverHeldFiles])
        let settings = try RestoredSettings(
            parts.ledger, account: parts.session.account, server: parts.remote.scope.server,
            rules: parts.rules.fingerprint, hasPauseMark: parts.pauseMark?.isSet == true)
        status.problems[.ledgerLost] = settings.recoveryNotice
        parts.pauseMark?.set(settings.isPaused)
        // Nothing may begin before everything is restored.
        let (writes, steps) = try restore(settings)
        handle(.store(writes))
        // The machine reads the queue next: uploads that return to their owner must be in it.
        await parts.ledger.commit([])
        perform(steps)
        handle(.recogniseOutbox)
        let isSignedOut = parts.session.isSignedOut
        handle(.store(settings.writes))
        handle(.uploads(settings.events(core.posts.gatherAll(), isSignedOut: isSignedOut)))
        if isSignedOut { perform(SessionSteps.signedOut) }
        handle(.posts(.started))
        perform([.reportPosts])
        if !isSignedOut { handle(.signedIn) }
        perform([.report(Array(core.book.drops.keys))] + core.book.drops.keys.map(AgentStep.examine))
        reportBacklog()
        await parts.ledger.commit([])
        runner.startPortraits(isAllPaused: core.machine.isPaused)
        parts.acknowledgements.clear()
    }

    /// Takes over the queue of the last run.
    ///
    /// - Returns: changes for the ledger, and what follows once they are durable.
    private func restore(
        _ settings: RestoredSettings
    ) throws(LedgerError) -> (writes: [LedgerWrite], steps: [AgentStep]) {
        var lastRun = try Restoration(core, settings, acknowledgements: parts.acknowledgements, now: now)
        // Reports of files name their posts and owners.
        core = lastRun.core
        let world = runner.world(core)
        var steps: [AgentStep] = []
        lastRun.restoreDrops { step in
            switch step {
            case .repairSidecar(let record): parts.sidecars.repair(world.report(of: record))
            case .removeSidecar(let path): parts.sidecars.remove(path)
            case .examine(let record): steps += runner.examine(record, core)
            }
        }
        try lastRun.restoreUploads()
        core = lastRun.core
        return (lastRun.writes, steps)
    }

    /// Reports the paths of the backlog that have no sidecar. A kill may have prevented it.
    private func reportBacklog() {
        guard core.machine.hasBacklog, core.book.elsewhere.isEmpty else { return }
        let resting = runner.world(core).resting
        reader.run { [weak self, sidecars = parts.sidecars] in
            var missing: [RelativePath] = []
            resting.forEach { record in
                if !record.state.isFinal, !sidecars.isThere(for: record.path) { missing.append(record.path) }
            }
            self?.run { [missing] in $0.perform([.report(missing)]) }
        }
    }

    // MARK: The end

    /// Stops sending, because another account signs in. Files that arrive from now on do not belong to the previous
    /// account: the next start determines their owner. Earlier owners are made durable here.
    func stopForOther() async {
        beginToEnd()
        handle(.uploads([.stop]))
        await runner.portraits.service?.stop()
        await parts.ledger.commit(core.book.recordsOfOwners())
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
        handle(.uploads([.stop]))
        core.letGoOfRetiring()
        perform([.recoverHeldFiles])
        cancelAlarm()
        runner.cancelRequests()
    }
}

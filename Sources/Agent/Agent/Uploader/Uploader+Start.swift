import ControlAPI
import Hooks
import Intake
import Ledger
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
            parts.ledger, account: parts.session.account, server: parts.remote.scope.place,
            rules: parts.rules.fingerprint, recipes: core.book.rules.recipes.fingerprint,
            portraitFolder: core.book.rules.portraitFolder,
            hasPauseMark: parts.pauseMark?.isSet == true)
        status.problems[.ledgerLost] = settings.recoveryNotice
        parts.pauseMark?.set(settings.isPaused)
        // Nothing may begin before everything is restored.
        handle(.store(try restore(settings) + [runner.strays.recordOfPlaces()]))
        // The machine reads the queue next: uploads that return to their owner must be in it.
        await parts.ledger.commit([])
        handle(.recogniseOutbox)
        let isSignedOut = parts.session.isSignedOut
        let isMarked = try parts.ledger.setting(LedgerSetting.caughtUp) == runner.caughtUpMark
        handle(.store([.setting(LedgerSetting.caughtUp, nil)]))
        handle(.uploads(settings.events(core.posts.gatherAll(), isSignedOut: isSignedOut)))
        if isSignedOut { perform(SessionSteps.signedOut) }
        handle(.posts(.started))
        perform([.reportPosts])
        if !isSignedOut { handle(.signedIn(isOther: settings.lastRun.isOtherAccount)) }
        // After a kill until now, the next run starts from the same settings.
        handle(.store(settings.writes))
        perform([.sweepProducts])
        perform([.report(Array(core.book.drops.keys))] + core.book.drops.keys.map(AgentStep.examine))
        await parts.ledger.commit([])
        if !isMarked || settings.recoveryNotice != nil {
            runner.beginToCatchUp()
            perform([.catchUp])
        }
        runner.startPortraits(isAllPaused: core.machine.isPaused)
        bulk.actions = BulkActions(stored: try parts.ledger.setting(LedgerSetting.bulkActions))
        carryOutBulk()
        parts.hooks?.wake()
        beat()
        // Acknowledgements of this run may wait for the ledger already. Their commit clears the log.
        if !commits.hasAside { parts.acknowledgements.clear() }
    }

    /// Takes over what the last run left to do.
    ///
    /// - Returns: changes for the ledger.
    private func restore(_ settings: RestoredSettings) throws(LedgerError) -> [LedgerWrite] {
        var lastRun = try Restoration(core, settings, acknowledgements: parts.acknowledgements, now: now)
        lastRun.restoreDrops()
        try lastRun.restoreUploads()
        core.book.retention.restore(try parts.ledger.setting(LedgerSetting.clock) ?? [])
        return lastRun.writes
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
    ///
    /// - Parameter patience: how long to wait for the disk. A supervisor's patience is limited, and on a full disk the
    ///   ledger may never finish. What it already holds is enough to continue.
    nonisolated func stop(patience: Duration = .seconds(3)) async {
        beginToEnd()
        parts.hashPool.stop()
        await withCheckedContinuation { continuation in
            thread.runFirst {
                self.assumeIsolated { $0.giveUp() }
                continuation.resume()
            }
        }
        await parts.portrait?.service.stop()
        _ = await TimeLimit.wait(patience) { [parts] in
            // The ledger reports earlier commits before this call returns, since they are queued on the same thread.
            await parts.ledger.commit([])
            await parts.hashPool.finish()
            let mark = await self.seal()
            let isWritten = await parts.sidecars.flush()
            if isWritten, let mark { await parts.ledger.commit([.setting(LedgerSetting.caughtUp, mark)]) }
        }
    }

    /// Whether the next run would have nothing to catch up on if this one ended now.
    var isCaughtUp: Bool { commits.isIdle && runner.isCaughtUp }

    /// From now on, ignores all events and steps: what happens, the next run finds out.
    ///
    /// - Returns: the mark for the ledger; `nil` if the next run has something to catch up on.
    private func seal() -> [UInt8]? {
        perform([.reportDelayed])
        isSealed = true
        // Somebody may delete a separate tree of sidecars, which no scan of the outbox would notice.
        return isCaughtUp && parts.sidecars.standBesideFiles ? runner.caughtUpMark : nil
    }

    private func giveUp() {
        handle(.uploads([.stop]))
        core.letGoOfRetiring()
        perform([.recoverHeldFiles])
        cancelAlarm()
        offerRoom()
        runner.cancelRequests()
    }
}

import AgentSupport
import FileWatch
import Intake
import Ledger
import LinuxSystem
import Logging
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
        let ledger = parts.ledger
        let lastRun = try LastRun(ledger, account: parts.session.account, server: parts.remote.scope.server)
        book.ownership = lastRun.ownership
        posts.ownership = lastRun.ownership
        try beginRecovery()
        let judgesAgain = try ledger.setting(LedgerSetting.rules) != parts.rules.fingerprint
        let postWrites = try restorePosts(isOtherServer: lastRun.isOtherServer)
        knownOutbox = try ledger.setting(LedgerSetting.outbox)
        let waiters = restoreDrops(isOtherServer: lastRun.isOtherServer, judgesAgain: judgesAgain)
        try restoreUploads(waiters)
        recogniseOutbox()
        machine.restoreRemovals(try pendingRemovals())
        var events = posts.gatherAll() + [.tick]
        let isPaused = try restoredPause()
        if isPaused { events.insert(.setAllPaused(true), at: 0) }
        let isSignedOut = parts.session.isSignedOut
        if isSignedOut { events.insert(.setSignedOut(SessionKeeper.signedOut), at: 0) }
        let settings: [LedgerWrite] = [
            .setting(LedgerSetting.rules, parts.rules.fingerprint),
            .setting(LedgerSetting.allPaused, isPaused ? [1] : nil),
        ]
        process(events, writes: lastRun.writes + postWrites + settings)
        if isSignedOut { perform(SessionSteps.signedOut) }
        startPosts()
        if !isSignedOut { takeOverNobodys() }
        report(book.drops.keys)
        for record in book.drops.values { examine(record) }
        await ledger.commit([])
        startPortrait()
        parts.acknowledgements.clear()
    }

    /// Restores the paths that are not in a final state.
    ///
    /// - Returns: the waiters of each content.
    private func restoreDrops(
        isOtherServer: Bool, judgesAgain: Bool
    ) -> [ContentKey: [RestoredWaiter]] {
        var waiters: [ContentKey: [RestoredWaiter]] = [:]
        var forgotten: [LedgerWrite] = []
        let isOtherOutbox = isOtherOutbox
        forEachStoredDrop { record in
            switch book.restore(record, isOtherServer: isOtherServer, judgesAgain: judgesAgain) {
            case .waits(var waiter):
                waiter.paused = waiter.paused || posts.holds(record)
                if let key = record.key { waiters[key, default: []].append(waiter) }
            case .parked(let account): parked.add(record, of: account)
            case .underWay: break
            case .forgotten: forgotten.append(.forgetDrop(record.path))
            case .ended:
                if !record.isTrace, !isOtherOutbox { parts.sidecars.repair(reportContext.report(record)) }
                examine(record)
                // A kill may have left the sidecar at the file's old place.
                if case .moved(let old) = record.disposal, self.record(of: old) == nil { parts.sidecars.remove(old) }
            }
        }
        if !forgotten.isEmpty { process([], writes: forgotten) }
        return waiters
    }

    private func restoreUploads(_ waiters: [ContentKey: [RestoredWaiter]]) throws(LedgerError) {
        var waiters = waiters
        var stored: [UploadRecord] = []
        try parts.ledger.forEachUpload({ record in
            stored.append(record)
            return true
        })
        var writes: [LedgerWrite] = []
        let logged = loggedAcknowledgements()
        for record in stored {
            let isMine = record.scope == parts.remote.scope
            guard isMine ? waiters[record.key] != nil : parked.isWanted(record.key) else {
                writes.append(.forgetUpload(record.key))
                continue
            }
            var (acknowledged, receipts) = try parts.ledger.fragments(of: record.key, plan: record.plan)
            for entry in logged[record.key] ?? [] where entry.belongs(to: record) {
                guard acknowledged.insert(entry.fragment) else { continue }
                let page = FragmentPage(of: entry.fragment, in: acknowledged, receipts: receipts)
                writes.append(.fragments(record.key, page))
            }
            if isMine, let paths = waiters.removeValue(forKey: record.key) {
                machine.restore(record, acknowledged: acknowledged, receipts: receipts, waiters: paths, now: now)
            } else {
                writes.append(.park(record.key))
                writes += keepParked(ParkedUploads.Entry(record: record, acknowledged: acknowledged))
            }
        }
        writes += try restoreParked(&waiters)
        // Paths without an upload for this server and account are hashed again and start over.
        for case .write(let write) in book.startOver(waiters.values.joined().map(\.path), now: now, facts: world) {
            writes.append(write)
        }
        // Nothing may begin before everything is restored.
        commit(writes) { _ in }
    }

    /// Returns the acknowledgements that the last run could not store in the ledger.
    private func loggedAcknowledgements() -> [ContentKey: [AcknowledgementLog.Entry]] {
        do {
            return Dictionary(grouping: try parts.acknowledgements.entries(), by: \.key)
        } catch {
            let metadata: Logger.Metadata = ["reason": "\(error)"]
            parts.logger.warning(
                "the last acknowledgements can't be read; the agent sends their fragments again", metadata: metadata)
            return [:]
        }
    }

    private func pendingRemovals() throws(LedgerError) -> [String] {
        let scope = Array(parts.remote.scope.description.utf8)
        return try parts.ledger.settings(withPrefix: UploadMachine.removalPrefix).filter { $0.value == scope }
            .map { String($0.name.dropFirst(UploadMachine.removalPrefix.count)) }
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
        await finishWriting()
    }

    private func giveUp() {
        process([.stop])
        putBackHeldFiles()
        alarm.cancel()
        parts.session.stopWatching()
        runner.cancelAll()
    }

    /// Waits until ledger and sidecars are written, for 3 s at most, since a supervisor's patience is limited. On a
    /// full disk the ledger may never finish; what it already holds is enough to continue.
    private func finishWriting() async {
        let (end, signal) = AsyncStream.makeStream(of: Void.self)
        let writing = Task {
            // The ledger reports earlier commits before this call returns, since they are queued on the same thread.
            await self.parts.ledger.commit([])
            await self.parts.hashPool.finish()
            await self.parts.sidecars.flush()
            signal.finish()
        }
        let patience = Task {
            try? await Task.sleep(for: .seconds(3))
            signal.finish()
        }
        for await _ in end {}
        writing.cancel()
        patience.cancel()
    }
}

import FileWatch
import Ledger
import Logging
import Remotes
import UploadCore

// From the ledger at start, and to rest at the end.
extension Uploader {
    /// Names of the ledger's settings.
    enum Setting {
        static let scope = "scope"
        static let rules = "intake/rules"
        static let allPaused = "paused"
        static let outbox = "outbox"
    }

    /// Brings back what the ledger holds and goes on with it.
    ///
    /// It is durable on return: the watch asks the ledger which files are known.
    ///
    /// - Parameters:
    ///   - reconsider: asks the watch to let a path settle again.
    ///   - watchCounters: what the watch has done so far.
    func start(
        reconsider: @escaping @Sendable (RelativePath) -> Void,
        watchCounters: @escaping @Sendable () -> WatchCounters = { WatchCounters() }
    ) async throws(LedgerError) {
        self.reconsider = reconsider
        self.watchCounters = watchCounters
        recoverHeldFiles()
        let ledger = parts.ledger
        let scope = Array(parts.remote.scope.description.utf8)
        let isOtherScope = try ledger.setting(Setting.scope).map { $0 != scope } ?? false
        let judgesAgain = try ledger.setting(Setting.rules) != parts.rules.fingerprint
        let waiters = restoreDrops(isOtherScope: isOtherScope, judgesAgain: judgesAgain)
        try restoreUploads(waiters)
        try recogniseOutbox()
        machine.restoreRemovals(try pendingRemovals())
        var events: [MachineEvent] = [.tick]
        if try ledger.setting(Setting.allPaused) != nil { events.insert(.setAllPaused(true), at: 0) }
        process(
            events,
            writes: [
                .setting(Setting.scope, scope), .setting(Account.setting, Array(parts.account.name.utf8)),
                .setting(Setting.rules, parts.rules.fingerprint),
            ])
        for record in drops.values {
            report(record)
            examine(record)
        }
        await ledger.commit([])
        startPortrait()
        parts.acknowledgements.clear()
    }

    /// Takes up the paths that are not in a final state.
    ///
    /// - Returns: the waiters of each content.
    private func restoreDrops(
        isOtherScope: Bool, judgesAgain: Bool
    ) -> [ContentKey: [RestoredWaiter]] {
        var waiters: [ContentKey: [RestoredWaiter]] = [:]
        var forgotten: [LedgerWrite] = []
        forEachStoredDrop { record in
            if record.key != nil, !record.state.isFinal, portrait(for: record.path) != nil {
                drops[record.path] = record
            } else if let key = record.key, !record.state.isFinal {
                drops[record.path] = record
                waiters[key, default: []].append(
                    RestoredWaiter(
                        path: record.path, paused: record.state == .paused, joinedLater: record.deduplicated))
            } else if record.state == .paused {
                // Paused before its content was known; the scan finds it.
                wishes.paused.insert(record.path)
                drops[record.path] = DropRecord(path: record.path, state: .settling, acceptedAt: record.acceptedAt)
            } else if (isOtherScope && record.key != nil && portrait(for: record.path) == nil)
                || (judgesAgain && record.state == .rejected)
            {
                forgotten.append(.forgetDrop(record.path))
            } else {
                parts.sidecars.repair(makeReport(record))
                examine(record)
                // A kill may have left the sidecar in the place that the file was moved from.
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
            guard record.scope == parts.remote.scope, let paths = waiters.removeValue(forKey: record.key) else {
                writes.append(.forgetUpload(record.key))
                continue
            }
            var (acknowledged, receipts) = try parts.ledger.fragments(of: record.key, plan: record.plan)
            for entry in logged[record.key] ?? [] where entry.belongs(to: record) {
                guard acknowledged.insert(entry.fragment) else { continue }
                let page = FragmentPage(of: entry.fragment, in: acknowledged, receipts: receipts)
                writes.append(.fragments(record.key, page))
            }
            machine.restore(record, acknowledged: acknowledged, receipts: receipts, waiters: paths, now: now)
        }
        // Paths without an upload of this server and account: they are hashed again, and start anew.
        for path in waiters.values.joined().map(\.path) {
            guard var record = drops.removeValue(forKey: path) else { continue }
            if record.state == .paused {
                wishes.paused.insert(path)
                writes.append(.pausedEarly(record))
            } else {
                writes.append(.forgetDrop(path))
            }
            record.identity = nil
            record.key = nil
            record.state = .settling
            drops[path] = record
        }
        if !writes.isEmpty { process([], writes: writes) }
    }

    /// What the last run heard from the server and could no longer store in the ledger.
    private func loggedAcknowledgements() -> [ContentKey: [AcknowledgementLog.Entry]] {
        do {
            return Dictionary(grouping: try parts.acknowledgements.entries(), by: \.key)
        } catch {
            let metadata: Logger.Metadata = ["reason": "\(error)"]
            parts.logger.warning(
                "the last acknowledgements can't be read; their fragments go again", metadata: metadata)
            return [:]
        }
    }

    private func pendingRemovals() throws(LedgerError) -> [String] {
        let scope = Array(parts.remote.scope.description.utf8)
        return try parts.ledger.settings(withPrefix: UploadMachine.removalPrefix).filter { $0.value == scope }
            .map { String($0.name.dropFirst(UploadMachine.removalPrefix.count)) }
    }

    /// Gives up what is under way and makes everything durable; nothing is lost by it.
    func stop() async {
        hasStopped = true
        process([.stop])
        await parts.portrait?.service.stop()
        putBackHeldFiles()
        alarm.cancel()
        tokenPoll?.cancel()
        for request in requests.values { request.cancel() }
        await finishWriting()
    }

    /// Waits until ledger and sidecars are written, or for as long as a supervisor has patience: with a full disk the
    /// ledger may never be, and what it has is enough to go on.
    private func finishWriting() async {
        let (end, signal) = AsyncStream.makeStream(of: Void.self)
        let writing = Task {
            // What was committed before is reported once this comes back, since that is queued on the same thread.
            await self.parts.ledger.commit([])
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

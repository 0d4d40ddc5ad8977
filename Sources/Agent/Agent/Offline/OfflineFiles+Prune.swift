package import AgentConfiguration
package import ControlAPI
import Glibc
import Intake
import Ledger
import LinuxSystem
import Logging
package import Reports
import Sidecars
import UploadCore

extension OfflineFiles {
    /// Removes sidecars and entries of vanished files after their retention, while no agent runs. Confirmations stay.
    ///
    /// If the outbox is missing, or is another directory than the agent knew, nothing is removed: the files are
    /// elsewhere, they have not vanished.
    ///
    /// - Throws: `AgentFailure`; `alreadyRunning` if an agent owns the state directory.
    package static func prune(configuration: Configuration) throws(AgentFailure) -> PruneReport {
        let path = configuration.state + "/ledger.lmdb"
        guard LedgerTraces(state: configuration.state).hasLedger else { return PruneReport() }
        let state = try StateDirectory(path: configuration.state)
        defer { withExtendedLifetime(state) {} }
        do {
            let ledger = try Ledger(
                directory: configuration.state, logger: Logger(label: "outbox") { _ in SwiftLogNoOpLogHandler() },
                onTrouble: { _ in })
            defer { ledger.close() }
            return try prune(ledger, configuration)
        } catch {
            throw .inputOutput(path: path, reason: "\(error)")
        }
    }

    private static func prune(_ ledger: Ledger, _ configuration: Configuration) throws(LedgerError) -> PruneReport {
        let files = OutboxFiles(root: configuration.outbox)
        guard let outbox = files.identity, try ledger.setting(LedgerSetting.outbox) ?? outbox == outbox else {
            return PruneReport()
        }
        var gone: [DropRecord] = []
        var retention = Retention(length: configuration.sidecars.retention)
        retention.restore(try ledger.setting(LedgerSetting.clock) ?? [])
        let now = WallTime(milliseconds: wallTimeMilliseconds())
        try ledger.forEachDrop({ record in
            if record.isPrunable(at: now, retention), files.isGone(record.path) {
                gone.append(record)
            }
            return true
        })
        let store = SidecarStore(mirror: configuration.sidecars.directory, outbox: files)
        var report = PruneReport()
        for record in gone {
            // A moved file keeps its sidecar.
            if case .moved = record.disposal { continue }
            if store.remove(for: .file(record.path), known: nil) { report.sidecars += 1 }
        }
        report.sidecars += try pruneStrays(
            ledger, SidecarSweep(files: files, store: store, rules: IntakeRules(configuration)))
        ledger.commit(gone.map { .forgetDrop($0.path) }) {}
        report.entries = gone.count
        return report
    }

    /// Removes sidecars and temporary files that belong to no path.
    ///
    /// - Returns: number of removed files.
    private static func pruneStrays(_ ledger: Ledger, _ sweep: SidecarSweep) throws(LedgerError) -> Int {
        var sources: Set<RelativePath> = []
        try ledger.forEachSource({ record in
            sources.insert(record.directory)
            return true
        })
        var count = 0
        for stray in sweep.findings().strays {
            switch stray.subject {
            case .file(let path): guard try ledger.drop(at: path) == nil, sweep.files.isGone(path) else { continue }
            case .source(let directory): guard !sources.contains(directory) else { continue }
            case nil: break
            }
            if sweep.store.remove(stray) { count += 1 }
        }
        return count
    }
}

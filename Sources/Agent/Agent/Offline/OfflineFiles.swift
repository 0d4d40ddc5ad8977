package import AgentConfiguration
package import ControlAPI
import Clocks
import Glibc
import Ledger
import Logging
package import Reports
import UploadCore

/// Reads files and sources from the ledger while no agent runs.
package enum OfflineFiles {
    /// Files sorted by path, and sources sorted by directory.
    package typealias Listing = (files: [FileEntry], sources: [SourceEntry])

    /// Returns everything in the ledger; nothing if there is no ledger yet.
    ///
    /// Does not lock the state directory, so an agent may start meanwhile. LMDB allows both to read and write.
    ///
    /// - Throws: `AgentFailure` if the ledger can't be read.
    package static func entries(configuration: Configuration) throws(AgentFailure) -> Listing {
        let path = configuration.state + "/ledger.lmdb"
        let traces = LedgerTraces(state: configuration.state)
        guard !traces.isLost else {
            let proofs = traces.proofs.joined(separator: " and ")
            throw .inputOutput(
                path: path,
                reason: "the ledger is lost, although \(proofs) prove that it existed; `outbox run` starts a new one")
        }
        guard traces.hasLedger else { return ([], []) }
        // LMDB must not map a file that may be damaged.
        if case .damaged(let reason)? = try? LedgerFile(directory: configuration.state).inspect() {
            throw .inputOutput(path: path, reason: "the ledger is damaged (\(reason)); `outbox run` rebuilds it")
        }
        do {
            let ledger = try Ledger(
                directory: configuration.state, logger: Logger(label: "outbox") { _ in SwiftLogNoOpLogHandler() },
                onTrouble: { _ in })
            defer { ledger.close() }
            let now = SystemClocks().now
            var book = SourceBook()
            try ledger.forEachSource({ record in
                book[record.directory] = SourceBook.Entry(machine: SourceMachine(record: record, now: now))
                return true
            })
            let isAllPaused = try ledger.setting(LedgerSetting.allPaused) != nil
            var reports: [FileReport] = []
            var events: [RelativePath: [SourceEvent]] = [:]
            try ledger.forEachDrop({ record in
                let source = book.directory(above: record.path)
                if let source, let name = record.path.relative(to: source) {
                    events[source, default: []].append(SourceEvent(record, name))
                }
                guard !record.isTrace else { return true }
                var report = report(record, ledger, configuration)
                if isAllPaused, record.key != nil, !record.state.isFinal { report.state = .paused }
                report.source = source.flatMap { book[$0]?.record.id }
                reports.append(report)
                return true
            })
            let byPath = Dictionary(reports.map { ($0.path, $0) }) { $1 }
            let sources = book.directories.compactMap { directory in
                book[directory].map { entry in
                    var report = report(entry.machine, events[directory] ?? [], byPath, now)
                    if isAllPaused, entry.record.isUnderWay { report.state = .file(.paused) }
                    return report
                }
            }
            return (
                try reports.sorted { $0.path < $1.path }.map { try FileEntry($0) },
                try sources.map { try SourceEntry($0) }
            )
        } catch {
            throw .inputOutput(path: path, reason: "\(error)")
        }
    }

    private static func report(
        _ machine: SourceMachine, _ events: [SourceEvent], _ files: [RelativePath: FileReport], _ now: Now
    ) -> SourceReport {
        // Derives the current state. The machine's actions are not performed.
        var machine = machine
        _ = machine.handle(events, now: now)
        let own = SourceReport.names(of: machine).compactMap { files[machine.record.directory.appending($0.bytes)] }
        return SourceReport(machine, files: own, now: now.wall)
    }

    private static func report(_ record: DropRecord, _ ledger: Ledger, _ configuration: Configuration) -> FileReport {
        let context = ReportContext(
            remoteProtocol: configuration.remote.protocol.rawValue, now: record.finishedAt ?? record.acceptedAt)
        var report = context.report(record)
        if let key = record.key, let upload = try? ledger.upload(key),
            let acknowledged = try? ledger.fragments(of: key, plan: upload.plan).acknowledged, !record.state.isFinal
        {
            report.describe(upload, acknowledged)
        }
        return report
    }
}

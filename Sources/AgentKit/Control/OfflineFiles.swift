import FoundationEssentials
import Glibc
import Ledger
import LinuxSystem
import Logging
import Remotes
import UploadCore

/// What the ledger says of the files while no agent runs.
public enum OfflineFiles {
    /// Every path in the ledger, ordered by path; none where there is no ledger yet.
    ///
    /// The state directory is not taken ownership of, so an agent may start meanwhile; LMDB lets both read and write.
    ///
    /// - Throws: `AgentFailure` when the ledger can't be read.
    public static func entries(configuration: Configuration) throws(AgentFailure) -> [FileEntry] {
        let path = configuration.state + "/ledger.lmdb"
        guard (try? FileStatus(path: path)) != nil else { return [] }
        // LMDB must not map a file that may be damaged.
        if case .damaged(let reason)? = try? LedgerFile(directory: configuration.state).inspect() {
            throw .inputOutput(path: path, reason: "it is damaged (\(reason)); `outbox run` rebuilds it")
        }
        do {
            let ledger = try Ledger(
                directory: configuration.state, logger: Logger(label: "outbox") { _ in SwiftLogNoOpLogHandler() },
                onTrouble: { _ in })
            defer { ledger.close() }
            var reports: [FileReport] = []
            try ledger.forEachDrop({ record in
                if !record.isTrace { reports.append(report(record, ledger, configuration)) }
                return true
            })
            return try reports.sorted { $0.path < $1.path }.map { report in
                try JSONDecoder().decode(FileEntry.self, from: Data(report.controlText()))
            }
        } catch {
            throw .inputOutput(path: path, reason: "\(error)")
        }
    }

    private static func report(_ record: DropRecord, _ ledger: Ledger, _ configuration: Configuration) -> FileReport {
        let context = ReportContext(
            traits: FileSectionRemote.protocolTraits, remoteProtocol: configuration.remote.protocol.rawValue,
            now: record.finishedAt ?? record.acceptedAt)
        var report = context.report(record)
        if let key = record.key, let upload = try? ledger.upload(key),
            let acknowledged = try? ledger.fragments(of: key, plan: upload.plan).acknowledged, !record.state.isFinal
        {
            report.fragments = .init(total: upload.plan.count, finished: acknowledged.count)
            let bytes = UInt64(acknowledged.count) * UInt64(upload.plan.fragmentSize)
            report.progress = min(1, Double(bytes) / Double(max(1, upload.plan.size)))
            report.attempts = upload.attempts
            report.remote.id = upload.remoteID
        }
        return report
    }
}

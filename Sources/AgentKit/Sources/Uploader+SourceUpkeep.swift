import FileWatch
import Ledger
import Logging
import UploadCore

// Sources from the ledger at start, and what becomes of them when they are over.
extension Uploader {
    /// Takes up the sources that the ledger holds; what their files are is told once those are restored.
    func restoreSources() throws(LedgerError) {
        let now = self.now
        try parts.ledger.forEachSource(
            { record in
                sources[record.directory] = SourceBook.Entry(machine: SourceMachine(record: record, now: now))
                return true
            },
            damaged: { error in
                self.parts.logger.error("a record of the ledger is damaged", metadata: ["reason": "\(error)"])
            })
    }

    /// Which uploads go together: the upload machine must know before anything else.
    func gatherAll() -> [MachineEvent] {
        sources.directories.compactMap { directory in
            guard let entry = sources[directory], !isParked(entry.record), !entry.machine.gathered.isEmpty else {
                return nil
            }
            sources[directory]?.gathered = entry.machine.gathered
            return .gather(entry.record.id, entry.machine.gathered)
        }
    }

    /// Tells the sources of all their files after a restart, also of those that the agent took out of the outbox itself.
    func startSources() {
        guard !sources.isEmpty else { return }
        var events: [RelativePath: [RelativePath: SourceEvent]] = [:]
        forEachDrop { record in
            guard let directory = source(of: record), let name = record.path.relative(to: directory) else { return }
            events[directory, default: [:]][name] = SourceEvent(record, name)
        }
        for directory in sources.directories {
            let record = sources[directory]?.record
            var told = events[directory] ?? [:]
            for names in [record?.files.keys, record?.post?.files.keys].compactMap(\.self) {
                for name in names where told[name] == nil { told[name] = .gone(name) }
            }
            tell(directory, told.sorted { $0.key < $1.key }.map(\.value))
            guard let report = sourceReport(directory) else { continue }
            if report.state.isFinal {
                parts.sidecars.repair(source: report)
            } else {
                parts.sidecars.note(source: report)
            }
        }
    }

    /// When the next source has something to do. Before the first scan, and while the outbox is away, none has.
    var sourceDeadline: MonotonicTime? {
        let next = hasScanned && !outboxIsLost ? sources.nextDeadline { !isParked($0) } : nil
        return [next, sourcesDue].compactMap(\.self).min()
    }

    /// After a full scan: sources that were not found are gone, and what is gone for long enough is forgotten.
    func scannedSources(_ summary: ScanSummary) {
        retireSources()
        let now = self.now
        for directory in sources.directories {
            guard let record = sources[directory]?.record else { continue }
            if case .cancelled(let error) = record.stage, error.code == "removed" {
                let end = record.finishedAt?.advanced(by: parts.retention)
                if let end, end.milliseconds <= now.wall.milliseconds { forgetSource(directory) }
                continue
            }
            let description = SourcePlaces.description(of: directory)
            if !names.isLeaving(description) && !summary.contains(description) { leaves(directory) }
        }
    }

    /// The `source.toml` of every source: where they are in another outbox, they were not removed.
    var sourceDescriptions: [RelativePath] {
        sources.directories.map(SourcePlaces.description)
    }
}

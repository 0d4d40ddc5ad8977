import FileWatch
import Ledger
import Logging
import Reports
import Sidecars
import UploadCore

// Restores sources from the ledger at start and removes finished ones.
extension Uploader {
    /// Restores the sources in the ledger. `startSources` passes the files to them later.
    ///
    /// - Parameter isOtherServer: whether the account's last run used another server. This server then knows no
    ///   earlier revision.
    /// - Returns: changes for the ledger.
    func restoreSources(isOtherServer: Bool) throws(LedgerError) -> [LedgerWrite] {
        var records: [SourceRecord] = []
        try parts.ledger.forEachSource(
            { record in
                records.append(record)
                return true
            },
            damaged: { error in
                self.parts.logger.error("a record of the ledger is damaged", metadata: ["reason": "\(error)"])
            })
        var writes: [LedgerWrite] = []
        for var record in records {
            if isOtherServer, !isParked(record), let anew = anew(record) {
                writes += [.forgetSource(record.id), .source(anew)]
                record = anew
            }
            if let other = sources[record.directory]?.record {
                // One directory replaced the other, and a kill prevented storing that.
                let isThere = record.mark != nil && record.mark == mark(of: record.directory)
                writes.append(.forgetSource(isThere ? other.id : record.id))
                if !isThere { continue }
            }
            sources[record.directory] = SourceBook.Entry(machine: SourceMachine(record: record, now: now))
        }
        return writes
    }

    /// Restarts a source under a new id, since its revisions belong to another server; `nil` if it has no revisions.
    private func anew(_ old: SourceRecord) -> SourceRecord? {
        switch old.stage {
        case .draft, .rejected, .cancelled: return nil
        case .collecting where old.revision == 0: return nil
        case .collecting, .uploading, .committing, .done, .failed: break
        }
        var record = SourceRecord(
            id: Self.newSourceID(), directory: old.directory, account: old.account, stage: .collecting,
            acceptedAt: old.acceptedAt)
        record.mark = old.mark
        record.isPaused = old.isPaused
        record.description = old.description
        return record
    }

    /// Returns which uploads belong together. The upload machine must know this before anything else.
    func gatherAll() -> [MachineEvent] {
        sources.directories.compactMap { directory in
            guard let entry = sources[directory], !isParked(entry.record), !entry.machine.gathered.isEmpty else {
                return nil
            }
            sources[directory]?.gathered = entry.machine.gathered
            return .gather(entry.record.id, entry.machine.gathered)
        }
    }

    /// Passes all files to their sources after a restart, including those that the agent itself moved out of the
    /// outbox.
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
                for name in names where told[name] == nil {
                    // The first scan shows whether the file exists.
                    told[name] = .file(name, SourceFile(state: .settling))
                    unfound.append(directory.appending(name.bytes))
                }
            }
            tell(directory, told.sorted { $0.key < $1.key }.map(\.value))
            guard let report = sourceReport(directory),
                hasPlaceForSidecar(SourcePlaces.description(of: directory))
            else { continue }
            if report.state.isFinal {
                parts.sidecars.repair(source: report)
            } else {
                parts.sidecars.note(source: report)
            }
        }
    }

    /// The next deadline of the sources. Before the first scan and while the outbox is absent, only reports are due.
    var sourceDeadline: MonotonicTime? {
        let next = book.hasScanned && !book.outboxIsLost ? sources.nextDeadline { !isParked($0) } : nil
        return [next, sourcesDue].compactMap(\.self).min()
    }

    /// After a full scan: sources that were not found are gone, and expired sources are forgotten.
    func scannedSources(_ summary: ScanSummary) {
        for path in unfound where !summary.contains(path) && record(of: path) == nil {
            guard let directory = sources.directory(above: path), let name = path.relative(to: directory) else {
                continue
            }
            tell(directory, [.gone(name)])
        }
        unfound = []
        forgetGoneFiles(summary)
        retireSources()
        let now = self.now
        for directory in sources.directories {
            guard let record = sources[directory]?.record else { continue }
            if record.wasRemoved {
                let end = record.finishedAt?.advanced(by: parts.retention)
                if let end, end.milliseconds <= now.wall.milliseconds { forgetSource(directory) }
                continue
            }
            let description = SourcePlaces.description(of: directory)
            if !book.isLeaving(description) && !summary.contains(description) { leaves(directory) }
        }
    }

    /// Reports vanished files that failed or were cancelled to their sources, so that the sources stop waiting for
    /// them. The records of these files stay for their retention.
    private func forgetGoneFiles(_ summary: ScanSummary) {
        for directory in sources.directories {
            guard let machine = sources[directory]?.machine else { continue }
            for (name, file) in machine.files where file.state == .failed || file.state == .cancelled {
                if !summary.contains(directory.appending(name.bytes)) { tell(directory, [.gone(name)]) }
            }
        }
    }

    /// The `source.toml` of every source. Descriptions in another outbox do not count as removed.
    var sourceDescriptions: [RelativePath] {
        sources.directories.map(SourcePlaces.description)
    }
}

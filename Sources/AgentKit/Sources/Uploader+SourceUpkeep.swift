import FileWatch
import Ledger
import Logging
import UploadCore

// Sources from the ledger at start, and what becomes of them when they are over.
extension Uploader {
    /// Takes up the sources that the ledger holds; what their files are is told once those are restored.
    ///
    /// - Parameter isOtherServer: whether the account's last run was with another server, which knows nothing of what this
    ///   one was told.
    /// - Returns: how the ledger must change.
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
                // One directory took the other's place, and a kill came before that was stored.
                let isThere = record.mark != nil && record.mark == mark(of: record.directory)
                writes.append(.forgetSource(isThere ? other.id : record.id))
                if !isThere { continue }
            }
            sources[record.directory] = SourceBook.Entry(machine: SourceMachine(record: record, now: now))
        }
        return writes
    }

    /// A source that begins anew, under another id, since its revisions are another server's; nil where it has none.
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
                for name in names where told[name] == nil {
                    // Whether it is there, the first scan tells.
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

    /// When the next source has something to do. Before the first scan, and while the outbox is away, none has.
    var sourceDeadline: MonotonicTime? {
        let next = book.hasScanned && !book.outboxIsLost ? sources.nextDeadline { !isParked($0) } : nil
        return [next, sourcesDue].compactMap(\.self).min()
    }

    /// After a full scan: sources that were not found are gone, and what is gone for long enough is forgotten.
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

    /// Files that failed, or were cancelled, and were not found: their records stay for a while, their sources need not wait
    /// for them.
    private func forgetGoneFiles(_ summary: ScanSummary) {
        for directory in sources.directories {
            guard let machine = sources[directory]?.machine else { continue }
            for (name, file) in machine.files where file.state == .failed || file.state == .cancelled {
                if !summary.contains(directory.appending(name.bytes)) { tell(directory, [.gone(name)]) }
            }
        }
    }

    /// The `source.toml` of every source: where they are in another outbox, they were not removed.
    var sourceDescriptions: [RelativePath] {
        sources.directories.map(SourcePlaces.description)
    }
}

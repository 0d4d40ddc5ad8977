import FileWatch
import Ledger
import LinuxSystem
import Logging
import SystemPackage
import UploadCore

// Files that go, or get another name.
extension Uploader {
    /// A name is gone: a file, or a directory with everything below it.
    func gone(_ path: RelativePath) {
        guard !outboxIsLost, withdrawn.remove(path) == nil, retiring[path] == nil else { return }
        let now = self.now.monotonic
        if let record = record(of: path) {
            names.leaves(path, file: record.identity, now: now)
        } else if hashing[path] != nil {
            names.leaves(path, file: nil, now: now)
        } else {
            forEachDrop(within: path) { names.leaves($0.path, file: $0.identity, now: now) }
        }
    }

    /// Every drop as it is now, or those within a directory.
    func forEachDrop(within directory: RelativePath = .root, _ body: (DropRecord) -> Void) {
        for path in drops.paths(within: directory) { if let record = drops[path] { body(record) } }
        forEachStoredDrop(within: directory) { if drops[$0.path] == nil { body($0) } }
    }

    func paths(within directory: RelativePath) -> [RelativePath] {
        var paths: [RelativePath] = []
        forEachDrop(within: directory) { paths.append($0.path) }
        return paths
    }

    func forEachStoredDrop(within directory: RelativePath = .root, _ body: (DropRecord) -> Void) {
        for record in unsaved.records(within: directory) { body(record) }
        do {
            let damaged: (LedgerError) -> Void = { error in
                self.parts.logger.error("a record of the ledger is damaged", metadata: ["reason": "\(error)"])
            }
            try parts.ledger.forEachDrop(
                within: directory,
                { record in
                    if !unsaved.covers(record.path) { body(record) }
                    return true
                }, damaged: damaged)
        } catch {
            ledgerFailed(error)
        }
    }

    /// Acts on names that have been gone for long enough.
    func confirmLeaving() {
        defer { sendFoundPortraits() }
        for path in names.takeDue(now: now.monotonic) {
            // The outbox itself must be there, or nothing was removed.
            guard !outboxIsLost, !isAway(path), !elsewhere.contains(path), (try? parts.files.status(of: .root)) != nil
            else {
                continue
            }
            if mayTurnUp(path) {
                names.leaves(path, file: record(of: path)?.identity, now: now.monotonic)
                continue
            }
            do {
                if try parts.files.status(of: path).kind == .directory { removed(path) } else { wasThere(path) }
            } catch Errno.noSuchFileOrDirectory, Errno.notDirectory, Errno.tooManySymbolicLinkLevels {
                removed(path)
            } catch {}
        }
    }

    /// Whether the file system that a path was on is not mounted now.
    func isAway(_ path: RelativePath) -> Bool {
        lostMounts.contains { path.isWithin($0) }
    }

    /// A name that seemed gone is there; if its file was missed while it was to be hashed, it is looked at again.
    private func wasThere(_ path: RelativePath) {
        if let record = drops[path], record.key == nil, hashing[path] == nil { reconsider(path) }
    }

    private func removed(_ path: RelativePath) {
        if let directory = sourceDirectory(of: path), sources[directory] != nil {
            return descriptionRemoved(from: directory)
        }
        sourceWentWith(path)
        forgetIntake(of: path)
        guard var record = record(of: path) else { return }
        switch record.state {
        // What the agent did itself.
        case .done where !record.hasFile || retiring[path] != nil: break
        case .done, .rejected: forget(path: path)
        case .failed, .cancelled:
            tellSource(gone: record)
            noteGone(record)
        default:
            if let key = record.key, let service = portrait(for: path) {
                service.removed(path, key)
                // Handed over already, it may be on the server by now; the service tells.
                if portraits[path] != nil { return }
            }
            let events = record.key.map { [MachineEvent.leave(path, $0)] } ?? []
            record.state = .cancelled
            record.identity = nil
            record.finishedAt = now.wall
            record.error = .removed
            process(events, writes: [keep(record)], reporting: path)
        }
    }

    func forget(path: RelativePath) {
        let record = record(of: path)
        drops[path] = nil
        racyFiles.forget(path)
        parts.sidecars.remove(path)
        events.publish(gone: path)
        process([], writes: [.forgetDrop(path)])
        releaseThumbnail(of: record?.key)
        if let record { tellSource(gone: record) }
    }

    /// A path is not on its way in any more.
    func forgetIntake(of path: RelativePath) {
        hashing[path] = nil
        hashedBytes[path] = nil
        earlyFacts[path] = nil
        wishes.forget(path)
        names.forgetArrival(path)
    }

    /// Forgets a file that is gone for longer than its outcome is kept. What was moved keeps its sidecar.
    func forget(_ record: DropRecord) {
        if case .moved = record.disposal {
            events.publish(gone: record.path)
            process([], writes: [.forgetDrop(record.path)])
            releaseThumbnail(of: record.key)
        } else {
            forget(path: record.path)
        }
    }

    /// After a full scan: what is known and was not found is gone, and what is gone for long enough is forgotten.
    func scanned(_ summary: ScanSummary) {
        if summary.unwatched == 0 { problems["watch"] = nil }
        if !hasScanned { sweepThumbnails() }
        hasScanned = true
        guard !outboxIsLost else { return }
        foundInOutbox(summary.found)
        withdrawn = []
        retireStuck()
        let now = self.now
        for (path, record) in drops where !names.isLeaving(path) && !summary.contains(path) {
            names.leaves(path, file: record.identity, now: now.monotonic)
        }
        var stale: [DropRecord] = []
        forEachStoredDrop { record in
            guard record.state.isFinal, drops[record.path] == nil, !summary.contains(record.path) else { return }
            if !record.outlivesFile || record.mayStandElsewhere {
                if !names.isLeaving(record.path) && retiring[record.path] == nil {
                    names.leaves(record.path, file: record.identity, now: now.monotonic)
                }
            } else if record.isOver(at: now.wall, retention: parts.retention) {
                stale.append(record)
            }
        }
        for record in stale { forget(record) }
        scannedSources(summary)
        sendFoundPortraits()
        endRecovery(summary)
        sweepSidecars()
        // Nothing may be written for hours; a ledger that something else damaged is noticed all the same.
        commit([]) { _ in }
        setAlarm()
    }
}

extension DropRecord {
    /// Whether the file is, as far as the agent knows, in the outbox under this path.
    var hasFile: Bool { disposal == nil || disposal == .pending }

    /// Whether the record only leads from an old path to where the file was moved.
    var isTrace: Bool { if case .movedAway = disposal { true } else { false } }

    /// Whether the outcome is told for a while after the file is gone.
    var outlivesFile: Bool {
        switch state {
        case .cancelled, .failed: true
        case .done: !hasFile
        default: false
        }
    }

    /// Whether the user cancelled the file and nobody has missed it so far: it may be found under another name.
    var mayStandElsewhere: Bool { isCancelledByUser && !flags.contains(.fileIsGone) }

    /// Whether nothing of a file that vanished need be kept any longer.
    func isPrunable(at now: WallTime, retention: Duration) -> Bool {
        state.isFinal && (!outlivesFile || isOver(at: now, retention: retention))
    }

    /// Whether that while is over.
    func isOver(at now: WallTime, retention: Duration) -> Bool {
        (finishedAt ?? now).advanced(by: retention).milliseconds <= now.milliseconds
    }
}

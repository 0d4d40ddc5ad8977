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
        guard !outboxIsLost else { return }
        let deadline = now.monotonic + Self.removalGrace
        if record(of: path) != nil || hashing[path] != nil {
            leaving[path] = deadline
        } else {
            for below in paths(within: path) { leaving[below] = deadline }
        }
    }

    private func paths(within directory: RelativePath) -> Set<RelativePath> {
        var paths = Set(drops.keys.filter { $0.isWithin(directory) })
        forEachStoredDrop { record in
            if record.path.isWithin(directory) { paths.insert(record.path) }
        }
        return paths
    }

    func forEachStoredDrop(_ body: (DropRecord) -> Void) {
        for record in unsaved.records { body(record) }
        do {
            let damaged: (LedgerError) -> Void = { error in
                self.parts.logger.error("a record of the ledger is damaged", metadata: ["reason": "\(error)"])
            }
            try parts.ledger.forEachDrop(
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
        let now = self.now.monotonic
        for (path, deadline) in leaving where deadline <= now {
            leaving[path] = nil
            // The outbox itself must be there, or nothing was removed.
            guard !outboxIsLost, !elsewhere.contains(path), (try? parts.files.status(of: .root)) != nil else {
                continue
            }
            do {
                if try parts.files.status(of: path).kind == .directory { removed(path) } else { wasThere(path) }
            } catch Errno.noSuchFileOrDirectory, Errno.notDirectory, Errno.tooManySymbolicLinkLevels {
                removed(path)
            } catch {}
        }
    }

    /// A name that seemed gone is there; if its file was missed while it was to be hashed, it is looked at again.
    private func wasThere(_ path: RelativePath) {
        if let record = drops[path], record.key == nil, hashing[path] == nil { reconsider(path) }
    }

    private func removed(_ path: RelativePath) {
        hashing[path] = nil
        guard var record = record(of: path) else { return }
        switch record.state {
        case .done, .rejected: forget(path)
        case .failed, .cancelled: break
        default:
            let events = record.key.map { [MachineEvent.leave(path, $0)] } ?? []
            record.state = .cancelled
            record.identity = nil
            record.finishedAt = now.wall
            record.error = FileError(
                code: "removed", message: "the file was removed before it was uploaded", retryable: false)
            process(events, writes: [keep(record)])
            report(record)
        }
    }

    private func forget(_ path: RelativePath) {
        drops[path] = nil
        parts.sidecars.remove(path)
        process([], writes: [.forgetDrop(path)])
    }

    /// After a full scan: what is known and was not found is gone, and what is gone for long enough is forgotten.
    func scanned(_ summary: ScanSummary) {
        if summary.unwatched == 0 { problems["watch"] = nil }
        hasScanned = true
        guard !outboxIsLost else { return }
        foundInOutbox(summary.contains)
        let deadline = now.monotonic + Self.removalGrace
        for path in drops.keys where leaving[path] == nil && !summary.contains(path) { leaving[path] = deadline }
        let wall = now.wall
        var stale: [RelativePath] = []
        forEachStoredDrop { record in
            guard record.state.isFinal, drops[record.path] == nil, !summary.contains(record.path) else { return }
            switch record.state {
            case .cancelled, .failed:
                let end = (record.finishedAt ?? wall).advanced(by: parts.retention)
                if end.milliseconds <= wall.milliseconds { stale.append(record.path) }
            default: if leaving[record.path] == nil { leaving[record.path] = deadline }
            }
        }
        for path in stale { forget(path) }
        armTimer()
    }

    // MARK: Renames

    /// A name changed within the outbox: uploads, records and sidecars go along.
    func renamed(_ old: RelativePath, _ new: RelativePath, isDirectory: Bool) {
        let sources = isDirectory ? Array(paths(within: old)) : [old]
        for source in sources {
            guard let target = source.moved(from: old, to: new) else { continue }
            leaving[source] = nil
            leaving[target] = nil
            move(source, to: target)
        }
    }

    private func move(_ old: RelativePath, to new: RelativePath) {
        guard var record = record(of: old) else { return }
        var events: [MachineEvent] = []
        if let replaced = self.record(of: new), !replaced.state.isFinal, let key = replaced.key {
            events.append(.leave(new, key))
        }
        let wasHashing = hashing.removeValue(forKey: old) != nil
        hashing[new] = nil
        drops[old] = nil
        parts.sidecars.remove(old)
        record.path = new
        guard let key = record.key, record.state != .settling else {
            // Not hashed yet, to be hashed again, or never to be: it settles under its new name.
            process(events, writes: [.forgetDrop(old)])
            let settling = DropRecord(path: new, state: .settling, acceptedAt: record.acceptedAt)
            drops[new] = settling
            report(settling)
            return reconsider(new)
        }
        // A rename changes ctime; where nothing else changed the hash still holds.
        let status = try? parts.files.status(of: new)
        if !wasHashing, let status, let identity = record.identity, identity.isSameFile(as: FileIdentity(status)) {
            record.identity = FileIdentity(status)
        } else {
            reconsider(new)
        }
        if openFiles[key]?.path == old { openFiles[key] = nil }
        if !record.state.isFinal { events.append(.rename(old, to: new, key)) }
        process(events, writes: [.forgetDrop(old), keep(record)])
        report(record)
    }
}

import FileWatch
import Ledger
import LinuxSystem
import SystemPackage
import UploadCore

// Files that get another name.
extension Uploader {
    /// A name changed within the outbox: uploads, records and sidecars go along.
    func renamed(_ old: RelativePath, _ new: RelativePath, isDirectory: Bool) {
        for source in isDirectory ? paths(within: old) : [old] {
            if let target = source.moved(from: old, to: new) { moves.append((source, target)) }
        }
    }

    /// Gives one file of a renamed directory its new name.
    ///
    /// - Returns: false where none is left.
    func moveNext() -> Bool {
        guard let (source, target) = moves.popLast() else { return false }
        names.stays(source)
        names.stays(target)
        move(source, to: target)
        return true
    }

    /// Whether a file that was found under a new name is one whose old name is gone; then it takes its upload along.
    func wasRenamed(to path: RelativePath, _ identity: FileIdentity, _ key: ContentKey) -> Bool {
        guard let old = formerName(of: path, identity, key) else { return false }
        follow(old, to: path)
        return true
    }

    private func formerName(of path: RelativePath, _ identity: FileIdentity, _ key: ContentKey) -> RelativePath? {
        if let old = names.formerName(of: identity), old != path, record(of: old)?.key == key { return old }
        // Found before its old name was missed.
        return machine.waiters(of: key).first {
            $0 != path && drops[$0]?.identity?.isSameFile(as: identity) == true && parts.files.isGone($0)
        }
    }

    func move(_ old: RelativePath, to new: RelativePath) {
        guard let record = record(of: old) else { return }
        latestNames[FileReport.id(of: old)] = new
        var events: [MachineEvent] = []
        if let replaced = self.record(of: new), !replaced.state.isFinal, let key = replaced.key {
            events.append(.leave(new, key))
            portraits[new] = nil
            portrait(for: new)?.removed(new, key)
        }
        releaseThumbnail(of: self.record(of: new)?.key)
        earlyFacts[old] = nil
        racyFiles.forget(old)
        let wasHashing = hashing.removeValue(forKey: old) != nil
        hashing[new] = nil
        hashedBytes[old] = nil
        hashedBytes[new] = nil
        names.forgetArrival(old)
        names.forgetArrival(new)
        wishes.rename(old, to: new)
        self.events.publish(gone: old)
        drops[old] = nil
        parts.sidecars.remove(old)
        var renamed = record
        renamed.path = new
        tellSource(from: record, to: renamed)
        if portrait(for: old) != nil || portrait(for: new) != nil {
            move(portrait: record, to: new, wasHashing: wasHashing, events)
        } else if record.isDecided {
            carry(record, to: new, wasHashing: wasHashing, events)
        } else {
            settleAgain(record, as: new, events)
        }
    }

    /// Not hashed yet, or to be hashed again: it settles under its new name.
    func settleAgain(_ old: DropRecord, as path: RelativePath, _ events: [MachineEvent]) {
        var record = DropRecord(path: path, state: .settling, acceptedAt: old.acceptedAt)
        record.account = old.account
        drops[path] = record
        var writes = [LedgerWrite.forgetDrop(old.path)]
        if wishes.areKept(for: path) { writes.append(rememberWishes(for: record)) }
        process(events, writes: writes)
        report(record)
        reconsider(path)
    }

    /// Upload, record and sidecar go along.
    func carry(_ old: DropRecord, to path: RelativePath, wasHashing: Bool, _ events: [MachineEvent]) {
        var record = old
        record.path = path
        record.flags.remove(.fileIsGone)
        // A rename changes ctime; where nothing else changed the hash still holds.
        let status = try? parts.files.status(of: path)
        if !wasHashing, let status, let identity = record.identity, identity.isSameFile(as: FileIdentity(status)) {
            let current = FileIdentity(status)
            record.identity = identity.isUntrusted ? current.untrusted : current
            if identity.isUntrusted { reconsider(path) }
        } else {
            reconsider(path)
        }
        var events = events
        if let key = record.key {
            if openFiles[key]?.path == old.path { openFiles[key] = nil }
            if !record.state.isFinal {
                events.append(.rename(old.path, to: path, key))
                // What held it under the old name need not hold it under the new one, and the other way round.
                lookForSource(above: path)
                events.append(.setPaused(path, key, isPaused(record) || isHeldBySource(record)))
            }
        }
        process(events, writes: [.forgetDrop(old.path), keep(record)])
        report(record)
    }
}

extension DropRecord {
    /// Whether a new name changes nothing in what is known of the file.
    fileprivate var isDecided: Bool {
        state != .settling && (key != nil || state == .cancelled || state == .rejected)
    }
}

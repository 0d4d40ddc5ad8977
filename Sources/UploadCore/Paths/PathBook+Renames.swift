// Files that get another name.
extension PathBook {
    /// The files of a directory, or the file, that bear a name: each of them gets another one.
    package func paths(within directory: RelativePath, facts: any PathFacts) -> [RelativePath] {
        var paths = drops.paths(within: directory)
        facts.forEachStoredRecord(within: directory) { if drops[$0.path] == nil { paths.append($0.path) } }
        return paths
    }

    /// Whether a file that was found under a new name is one whose old name is gone; then it takes its upload along.
    mutating func followRename(to path: RelativePath, _ identity: FileIdentity, _ key: ContentKey) -> Bool {
        guard let old = formerName(of: path, identity, key) else { return false }
        follow(old, to: path)
        return true
    }

    private func formerName(of path: RelativePath, _ identity: FileIdentity, _ key: ContentKey) -> RelativePath? {
        if let old = names.formerName(of: identity), old != path, record(of: old)?.key == key { return old }
        // Found before its old name was missed.
        return facts.waiters(of: key).first {
            $0 != path && drops[$0]?.identity?.isSameFile(as: identity) == true && facts.look(at: $0).isGone
        }
    }

    /// Moves record, upload and wishes from a name that a file has left to the one it has now.
    mutating func follow(_ old: RelativePath, to path: RelativePath) {
        let (isPaused, isFirst) = (wishes.paused.contains(path), wishes.first.contains(path))
        forgetIntake(of: path)
        names.stays(old)
        let isTaken = !facts.look(at: old).isGone
        if isTaken, drops[old]?.key == nil, storedRecord(of: old)?.state.isFinal == true {
            // Only the file that bears the old name now is known there; the record is about the one before.
            drops[old] = nil
        }
        move(old, to: path)
        if isPaused, let record = drops[path] { _ = pause(record) }
        if isFirst, let record = drops[path] { _ = moveFirst(record) }
        if isTaken { add(.settle(old)) }
    }

    /// A name changed within the outbox: record, upload and sidecar go along.
    mutating func move(_ old: RelativePath, to new: RelativePath) {
        guard old != new, let record = record(of: old) else { return }
        add(.renamed(old, to: new))
        if isBack(record, under: new) { return }
        noteDisplaced(at: old, by: record.identity)
        noteDisplaced(at: new, by: record.identity)
        let replaced = self.record(of: new)
        if let replaced, !replaced.state.isFinal, let key = replaced.key {
            add(.upload(.leave(new, key)))
            leavePortrait(new, key)
        }
        if let key = replaced?.key { add(.releaseContent(key)) }
        earlyFacts[old] = nil
        racyFiles.forget(old)
        let wasHashing = hashing.removeValue(forKey: old) != nil
        hashing[new] = nil
        hashedBytes[old] = nil
        hashedBytes[new] = nil
        names.forgetArrival(old)
        names.forgetArrival(new)
        wishes.rename(old, to: new)
        add(.announceGone(old))
        add(.removeSidecar(old))
        drops[old] = nil
        var renamed = record
        renamed.path = new
        add(.postMoved(record, to: renamed))
        if isPortrait(old) || isPortrait(new) {
            move(portrait: record, to: new, wasHashing: wasHashing)
        } else if record.isDecided {
            carry(record, to: new, wasHashing: wasHashing)
        } else {
            settleAgain(record, as: new)
        }
    }

    /// Whether what is known under the new name is about this very file already: it was found under another name for a
    /// while, or the user cancelled it under the new one before its rename was told. Then only the old name is forgotten.
    private mutating func isBack(_ record: DropRecord, under path: RelativePath) -> Bool {
        guard let file = record.identity, let known = self.record(of: path), known.isDecided,
            known.identity?.mark == file.mark, !record.isDecided || known.isCancelledByUser
        else { return false }
        if let key = record.key {
            add(.upload(.leave(record.path, key)))
            leavePortrait(record.path, key)
            add(.releaseContent(key))
        }
        let (isPaused, isFirst) = (wishes.paused.contains(record.path), wishes.first.contains(record.path))
        forgetIntake(of: record.path)
        drops[record.path] = nil
        add(.announceGone(record.path))
        add(.removeSidecar(record.path))
        add(write: .forgetDrop(record.path))
        add(.postLost(record))
        if isPaused { _ = pause(known) }
        if isFirst { _ = moveFirst(known) }
        return true
    }

    /// Not hashed yet, or to be hashed again: it settles under its new name.
    mutating func settleAgain(_ old: DropRecord, as path: RelativePath) {
        var record = DropRecord(path: path, state: .settling, acceptedAt: old.acceptedAt)
        record.account = old.account
        drops[path] = record
        add(write: .forgetDrop(old.path))
        if wishes.areKept(for: path) { rememberWishes(for: record) }
        add(.report(path))
        add(.settle(path))
    }

    /// Upload, record and sidecar go along.
    mutating func carry(_ old: DropRecord, to path: RelativePath, wasHashing: Bool) {
        var record = old
        record.path = path
        record.flags.remove(.fileIsGone)
        // A rename changes ctime; where nothing else changed the hash still holds.
        let current = facts.look(at: path).identity
        if !wasHashing, let current, let identity = record.identity, identity.isSameFile(as: current) {
            record.identity = identity.isUntrusted ? current.untrusted : current
            if identity.isUntrusted { add(.settle(path)) }
        } else {
            add(.settle(path))
        }
        add(write: .forgetDrop(old.path))
        store(record)
        if let key = record.key, !record.state.isFinal {
            add(.upload(.rename(old.path, to: path, key)))
            // What held it under the old name need not hold it under the new one, and the other way round.
            add(.upload(.setPaused(path, key, isPaused(record))))
        }
        add(.report(path))
    }
}

extension DropRecord {
    /// Whether a new name changes nothing in what is known of the file.
    fileprivate var isDecided: Bool {
        state != .settling && (key != nil || state == .cancelled || state == .rejected)
    }
}

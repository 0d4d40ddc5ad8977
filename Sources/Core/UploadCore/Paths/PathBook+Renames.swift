// Handles renamed files.
extension PathBook {
    /// Returns the paths of all files in a directory, or of the file itself. A rename changes each of them.
    package func paths(within directory: RelativePath, facts: any PathFacts) -> [RelativePath] {
        var paths = drops.paths(within: directory)
        facts.forEachStoredRecord(within: directory) { if drops[$0.path] == nil { paths.append($0.path) } }
        return paths
    }

    /// Follows a rename: if the file's old name is gone, moves its upload to the new name. Returns whether it did.
    mutating func followRename(to path: RelativePath, _ identity: FileIdentity, _ key: ContentKey) -> Bool {
        guard let old = formerName(of: path, identity, key) else { return false }
        follow(old, to: path)
        return true
    }

    private func formerName(of path: RelativePath, _ identity: FileIdentity, _ key: ContentKey) -> RelativePath? {
        if let old = names.formerName(of: identity), old != path, record(of: old)?.key == key { return old }
        // The new name was found before the old name was missed.
        return facts.waiters(of: key).first {
            $0 != path && record(of: $0)?.identity?.isSameFile(as: identity) == true && facts.look(at: $0).isGone
        }
    }

    /// Moves record, upload and wishes from the file's old name to its present name.
    mutating func follow(_ old: RelativePath, to path: RelativePath) {
        let (isPaused, isFirst) = (wishes.paused.contains(path), wishes.first.contains(path))
        forgetIntake(of: path)
        names.stays(old)
        let isTaken = !facts.look(at: old).isGone
        if isTaken, drops[old]?.key == nil, storedRecord(of: old)?.state.isFinal == true {
            // `drops` describes the file that has the old name now; the stored record describes the earlier file.
            drops[old] = nil
        }
        move(old, to: path)
        if isPaused, let record = drops[path] { _ = pause(record) }
        if isFirst, let record = drops[path] { _ = moveFirst(record) }
        if isTaken { add(.settle(old)) }
    }

    /// Renames a path within the outbox, with its record, upload and sidecar.
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
        unread.forget(old)
        racyFiles.forget(old)
        let wasHashing = hashing.removeValue(forKey: old) != nil
        hashing[new] = nil
        for path in [old, new] {
            hashedBytes[path] = nil
            processed[path] = nil
        }
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

    /// Whether the new name already has a record of this very file. Either a scan found the file there earlier, or the
    /// user cancelled it there before the rename was reported. If so, forgets only the old name.
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

    /// Lets a file settle under its new name, because its hash is missing or outdated.
    mutating func settleAgain(_ old: DropRecord, as path: RelativePath) {
        var record = DropRecord(path: path, state: .settling, acceptedAt: old.acceptedAt)
        record.account = old.account
        drops[path] = record
        add(write: .forgetDrop(old.path))
        if wishes.areKept(for: path) { rememberWishes(for: record) }
        add(.report(path))
        add(.settle(path))
    }

    /// Moves upload, record and sidecar to the new name.
    mutating func carry(_ old: DropRecord, to path: RelativePath, wasHashing: Bool) {
        var record = old
        record.path = path
        record.flags.remove(.fileIsGone)
        // A rename changes ctime. If nothing else changed, the hash still holds.
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
            // A post may hold the file under one name and not under the other.
            add(.upload(.setPaused(path, key, isPaused(record))))
        }
        add(.report(path))
    }
}

extension DropRecord {
    /// Whether the record stays valid under a new name.
    fileprivate var isDecided: Bool {
        state != .settling && (key != nil || state == .cancelled || state == .rejected)
    }
}

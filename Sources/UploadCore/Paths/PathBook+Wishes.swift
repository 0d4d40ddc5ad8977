// What users want of files.
//
// It belongs to the file, not to its name: it follows the file to a name that nobody saw it get. A file is known again by
// inode, birth time, size and modification time. Where it has become another file, moved to another file system or
// restored from a copy, its content tells, as long as the old name has not been missed yet. While the old name is still
// there, the other file is a copy, and a file of its own.
extension PathBook {
    /// Most names that are looked at for one file.
    private static let mostNames = 100

    // MARK: Actions

    /// Does what is wanted of one path.
    ///
    /// - Returns: why not, where nothing was to be done.
    mutating func act(_ action: FileAction, on path: RelativePath) -> String? {
        guard let record = record(of: path) else { return "it is gone" }
        if action == .retry || action == .first, let account = ownership.absentOwner(record.account) {
            return "it is \(account)'s; it goes on once \(account) signs in"
        }
        if record.key != nil, record.state != .settling, !record.state.isFinal, isPortrait(path) {
            return act(action, onPortrait: record)
        }
        switch action {
        case .pause: return pause(record)
        case .resume: return resume(record)
        case .cancel: return cancel(record)
        case .retry: return retry(record)
        case .first: return moveFirst(record)
        }
    }

    mutating func pause(_ old: DropRecord) -> String? {
        if old.state.isFinal { return "it is \(old.state.rawValue) already" }
        if isPaused(old) { return "it is paused already" }
        var record = old
        record.state = .paused
        if let key = old.key, old.state != .settling {
            store(record)
            add(.upload(.setPaused(old.path, key, true)))
        } else {
            // Its content is not known yet. A restart finds the wish in the ledger.
            wishes.paused.insert(old.path)
            if old.key == nil { rememberWishes(for: old) } else { add(write: .drop(record)) }
        }
        add(.report(old.path))
        return nil
    }

    private mutating func resume(_ old: DropRecord) -> String? {
        if old.state.isFinal { return "it is \(old.state.rawValue) already" }
        guard isPaused(old) else {
            return facts.isAllPaused ? "everything is paused; `outbox resume --all` goes on" : "it is not paused"
        }
        if wishes.paused.remove(old.path) != nil {
            rememberWishes(for: old)
            add(.report(old.path))
        } else if let key = old.key {
            var record = old
            record.state = .queued
            store(record)
            add(.upload(.setPaused(old.path, key, false)))
            add(.reportWhenDurable(old.path))
        }
        return facts.isAllPaused ? "it goes on once `outbox resume --all` lets everything go on" : nil
    }

    private mutating func cancel(_ old: DropRecord) -> String? {
        if old.state.isFinal { return "it is \(old.state.rawValue) already" }
        var record = old
        record.state = .cancelled
        record.finishedAt = now.wall
        record.error = .cancelledByUser
        // The file that is there now is not taken again; one that is written anew is.
        if let identity = facts.look(at: old.path).identity {
            // Written into since it was hashed: what it holds now is not known.
            if old.identity?.isSameFile(as: identity) != true { record.key = nil }
            record.identity = identity
        }
        forgetIntake(of: old.path)
        if old.state == .settling {
            wishes.cancelled.insert(old.path)
            record.flags = .cancelledEarly
        }
        store(record)
        if let key = old.key { add(.upload(.leave(old.path, key))) }
        add(.reportWhenDurable(old.path))
        return nil
    }

    mutating func retry(_ old: DropRecord) -> String? {
        switch old.state {
        case .done: return "it is done already"
        case .paused: return "it is paused; `outbox resume` lets it go on"
        case .failed, .cancelled, .rejected:
            if facts.look(at: old.path).isGone { return "the file is gone" }
            if let file = old.identity { displaced[file.mark] = nil }
            var record = DropRecord(path: old.path, state: .settling, acceptedAt: old.acceptedAt)
            record.account = old.account
            drops[old.path] = record
            add(write: .forgetDrop(old.path))
            add(.reportWhenDurable(old.path))
            add(.settle(old.path))
        default:
            guard let key = old.key else { return "it is being looked at for the first time" }
            add(.upload(.retry(key)))
            add(.reportWhenDurable(old.path))
        }
        return nil
    }

    mutating func moveFirst(_ old: DropRecord) -> String? {
        if old.state.isFinal { return "it is \(old.state.rawValue) already" }
        if let key = old.key, old.state != .settling {
            add(.upload(.first(key)))
            add(.reportWhenDurable(old.path))
        } else {
            wishes.first.insert(old.path)
            if old.key == nil { rememberWishes(for: old) }
        }
        return nil
    }

    // MARK: Names that nobody saw change

    /// Whether some file's name may change without what is wanted of it being lost: only then it need be looked for.
    package var mayFollow: Bool { !wishIndex.isEmpty || displaced.count > 0 }

    /// Takes along what the user wanted of a file that came under another name.
    ///
    /// - Returns: whether there was such a wish. There is nothing more to do with the file then.
    mutating func followFile(to path: RelativePath, _ file: FileIdentity) -> Bool {
        if let known = record(of: path), known.key != nil || known.state.isFinal, known.identity != nil,
            known.isAboutInode(of: file)
        {
            return false
        }
        if let old = bearer(of: file, except: path) {
            follow(old, to: path)
            return true
        }
        return followDisplaced(to: path, file)
    }

    /// The same where another file took the old name and was dealt with first.
    private mutating func followDisplaced(to path: RelativePath, _ file: FileIdentity) -> Bool {
        guard var record = displaced[file.mark], isAlike(record.path, path) else { return false }
        displaced[file.mark] = nil
        guard record.isCancelledByUser else {
            wishes.paused.insert(path)
            return false
        }
        if let replaced = drops[path], let key = replaced.key {
            add(.upload(.leave(path, key)))
            leavePortrait(path, key)
            add(.releaseContent(key))
        }
        forgetIntake(of: path)
        record.path = path
        record.identity = file
        record.flags = []
        store(record)
        add(.reportWhenDurable(path))
        return true
    }

    /// Another file has the name of a file that the user cancelled or paused, which may turn up under another one.
    mutating func noteDisplaced(at path: RelativePath, by file: FileIdentity?) {
        guard let record = storedRecord(of: path), record.isCancelledByUser || record.state == .paused,
            let old = record.identity, old.inode != file?.inode || old.born != file?.born
        else { return }
        displaced[old.mark] = record
    }

    /// Takes along what the user wanted of a content whose file is gone, under whatever name it is found.
    ///
    /// - Returns: whether there was such a wish.
    mutating func followContent(to path: RelativePath, _ file: FileIdentity, _ key: ContentKey) -> Bool {
        let names = wishIndex.paths(of: key)
        guard !names.isEmpty, record(of: path)?.key != key, !isPortrait(path) else { return false }
        let old = names.prefix(Self.mostNames).sorted().first {
            $0 != path && !isPortrait($0) && !isAway($0) && facts.look(at: $0).isGone
        }
        guard let old else { return false }
        // Should the very file turn up all the same, it is not forgotten what was wanted of it.
        noteDisplaced(at: old, by: file)
        follow(old, to: path)
        if var record = record(of: path), record.key == key {
            record.identity = file
            store(record)
        }
        return true
    }

    /// A name that a user acts on may be the new one of a file that is on its way: then the file is meant.
    mutating func recogniseRename(to path: RelativePath) {
        guard let new = drops[path], new.key == nil, !new.state.isFinal,
            case .there(.regular, let file) = facts.look(at: path)
        else { return }
        if let old = formerName(of: path, file) { follow(old, to: path) }
    }

    private func formerName(of path: RelativePath, _ file: FileIdentity) -> RelativePath? {
        let isIt = { (old: RelativePath) in old != path && hasLeft(old, file) && isAlike(old, path) }
        if let old = names.formerName(of: file), isIt(old) { return old }
        return bearer(of: file, except: path)
            ?? drops.values.first { $0.key != nil && $0.identity?.mark == file.mark && isIt($0.path) }?.path
    }

    /// The name whose record says what the user wants of a file that has left that name.
    private func bearer(of file: FileIdentity, except path: RelativePath) -> RelativePath? {
        wishIndex.paths(of: file).prefix(Self.mostNames).first {
            $0 != path && hasLeft($0, file) && isAlike($0, path)
        }
    }

    /// Whether a file is not under a name any more.
    private func hasLeft(_ path: RelativePath, _ file: FileIdentity) -> Bool {
        if isAway(path) { return false }
        switch facts.look(at: path) {
        case .there(_, let identity): return identity.inode != file.inode || identity.born != file.born
        case .nothing: return true
        case .unknown: return false
        }
    }

    /// Whether both names are in the portrait folder or neither is: on the way in or out a file becomes another thing.
    private func isAlike(_ old: RelativePath, _ new: RelativePath) -> Bool { isPortrait(old) == isPortrait(new) }

    // MARK: Files that are cancelled

    /// Whether a file was cancelled under the name it has: it was only touched, or restored from a copy.
    ///
    /// - Returns: whether it was. Nothing more becomes of it.
    mutating func staysCancelled(
        _ path: RelativePath, _ file: FileIdentity, _ type: MediaType, _ content: DropContent
    ) -> Bool {
        guard !isPortrait(path), var record = storedRecord(of: path), record.isCancelledByUser else { return false }
        let isSameContent = record.key == content.key && !record.flags.contains(.fileIsGone)
        guard isSameContent || record.isAbout(file) else { return false }
        forgetIntake(of: path)
        record.identity = file
        record.key = content.key
        record.type = type
        record.flags = []
        store(record)
        add(.reportWhenDurable(path))
        return true
    }

    /// A file that the user cancelled has been gone for long enough.
    mutating func noteGone(_ record: DropRecord) {
        guard record.mayStandElsewhere else { return }
        var record = record
        record.flags = .fileIsGone
        store(record)
    }

    /// Whether a name that is gone may be found under a new one whose content is not known yet, as far as sizes tell.
    func mayTurnUp(_ path: RelativePath) -> Bool {
        guard wishIndex.followsContent(of: path), let size = record(of: path)?.identity?.size else { return false }
        return names.hasArrival(ofSize: size)
    }

    /// Has the ledger remember what is wanted of a path whose content is not known yet: it forgets the path where nothing
    /// is.
    mutating func rememberWishes(for record: DropRecord) {
        guard wishes.areKept(for: record.path) else { return add(write: .forgetDrop(record.path)) }
        var record = record
        record.key = nil
        record.state = wishes.paused.contains(record.path) ? .paused : .settling
        record.flags = wishes.first.contains(record.path) ? .first : []
        if let identity = facts.look(at: record.path).identity { record.identity = identity }
        add(write: .drop(record))
    }
}

extension DropRecord {
    /// Whether a record is about this file, whatever was written into the file since.
    func isAboutInode(of file: FileIdentity) -> Bool {
        identity.map { $0.inode == file.inode && $0.born == file.born } ?? true
    }

    /// Whether a record whose path a file has is about that file. A file that was put back from a copy has another inode;
    /// where its content was never known, size and modification time tell.
    func isAbout(_ file: FileIdentity) -> Bool {
        guard let identity else { return false }
        if identity.mark == file.mark { return true }
        return isCancelledByUser && key == nil && identity.size == file.size && identity.modified == file.modified
    }
}

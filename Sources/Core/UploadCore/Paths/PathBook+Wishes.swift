// Applies the wishes of users: pause, resume, cancel, retry, first.
//
// A wish belongs to the file, not to its name, and follows the file through renames that nobody reported. Inode, birth
// time, size and modification time identify a file. If the file was rewritten, moved to another file system or restored
// from a copy, its content identifies it until the removal of the old name is confirmed. If the old name still exists,
// the other file is a copy and a file of its own.
extension PathBook {
    /// The maximum number of names to check for one file.
    private static let mostNames = 100

    // MARK: Actions

    /// Applies a user action to one path.
    ///
    /// - Returns: a message for the user if the action has no effect, or none yet; nil otherwise.
    mutating func act(_ action: UserAction, on path: RelativePath) -> String? {
        guard let record = record(of: path) else { return "the file is gone" }
        if action == .retry || action == .first, let account = ownership.absentOwner(record.account) {
            return "the file belongs to \(account), and continues once \(account) signs in"
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
        case .submit: return "only a post can be submitted"
        }
    }

    mutating func pause(_ old: DropRecord) -> String? {
        if old.state.isFinal { return "the file is already \(old.state.rawValue)" }
        if isPaused(old) { return "the file is already paused" }
        var record = old
        record.state = .paused
        if let key = old.key, old.state != .settling {
            store(record)
            add(.upload(.setPaused(old.path, key, true)))
        } else {
            // The content is still unknown. After a restart the ledger restores the wish.
            wishes.paused.insert(old.path)
            if old.key == nil { rememberWishes(for: old) } else { add(write: .drop(record)) }
        }
        add(.report(old.path))
        return nil
    }

    private mutating func resume(_ old: DropRecord) -> String? {
        if old.state.isFinal { return "the file is already \(old.state.rawValue)" }
        guard isPaused(old) else {
            return facts.isAllPaused ? "everything is paused; run `outbox resume --all`" : "the file is not paused"
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
        return facts.isAllPaused ? "the file continues after `outbox resume --all`, because everything is paused" : nil
    }

    private mutating func cancel(_ old: DropRecord) -> String? {
        if old.state.isFinal, old.state != .failed { return "the file is already \(old.state.rawValue)" }
        var record = old
        record.state = .cancelled
        record.finishedAt = now.wall
        record.error = old.state == .failed ? .dismissed : .cancelledByUser
        // Ignores the present file from now on. A file written later is accepted.
        if let identity = facts.look(at: old.path).identity {
            // The file changed after its hash. Its present content is unknown.
            if old.identity?.isSameFile(as: identity) != true { record.key = nil }
            record.identity = identity
        }
        forgetIntake(of: old.path)
        if old.state == .settling {
            wishes.cancelled.insert(old.path)
            record.flags = .cancelledEarly
        }
        store(record)
        if let key = old.key, old.state != .failed { add(.upload(.leave(old.path, key))) }
        add(.reportWhenDurable(old.path))
        return nil
    }

    mutating func retry(_ old: DropRecord) -> String? {
        switch old.state {
        case .done: return "the file is already done"
        case .paused: return "the file is paused; run `outbox resume`"
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
            let unread = unread.takeAll(within: old.path)
            tryToRead(unread)
            guard let key = old.key else {
                return unread.isEmpty ? "the agent is still reading the file for the first time" : nil
            }
            add(.upload(.retry(key)))
            add(.reportWhenDurable(old.path))
        }
        return nil
    }

    mutating func moveFirst(_ old: DropRecord) -> String? {
        if old.state.isFinal { return "the file is already \(old.state.rawValue)" }
        if let key = old.key, old.state != .settling {
            add(.upload(.first(key)))
            add(.reportWhenDurable(old.path))
        } else {
            wishes.first.insert(old.path)
            if old.key == nil { rememberWishes(for: old) }
        }
        return nil
    }

    // MARK: Wishes of posts

    /// Gives up a file of a post that was cancelled or removed.
    mutating func giveUp(_ path: RelativePath, _ error: FileError) {
        guard var record = record(of: path), record.state != .cancelled, record.state != .rejected else { return }
        if let key = record.key { add(.upload(.leave(path, key))) }
        forgetIntake(of: path)
        record.state = .cancelled
        record.error = error
        record.finishedAt = now.wall
        record.remote = nil
        store(record)
        add(.reportWhenDurable(path))
    }

    /// Asks the server whether it still has the content of a confirmed file, and sends a lost content again.
    mutating func verify(_ path: RelativePath) {
        defer { add(.reportWhenDurable(path)) }
        guard var record = record(of: path), record.state == .done, let key = record.key, let remote = record.remote,
            let seal = facts.confirmation(of: key)?.seal
        else { return }
        record.state = .queued
        record.finishedAt = nil
        record.flags.insert(.verifying)
        store(record)
        add(.upload(.verify(path, DropContent(key: key, seal: seal), remote, paused: false)))
    }

    // MARK: Unreported renames

    /// Whether any wish exists that a renamed file could carry. If not, callers may skip the search.
    package var mayFollow: Bool { !wishIndex.isEmpty || displaced.count > 0 }

    /// Moves the user's wishes from a file's old name to its new name.
    ///
    /// - Returns: whether there was a wish. If so, the file needs no further handling.
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

    /// Does the same if another file took the old name and was handled first.
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

    /// Remembers a cancelled or paused file whose name another file took. The file may appear under another name.
    mutating func noteDisplaced(at path: RelativePath, by file: FileIdentity?) {
        guard let record = storedRecord(of: path), record.isCancelledByUser || record.state == .paused,
            let old = record.identity, old.inode != file?.inode || old.born != file?.born
        else { return }
        displaced[old.mark] = record
    }

    /// Moves the user's wishes for a content whose file is gone to the new name of that content.
    ///
    /// - Returns: whether there was a wish.
    mutating func followContent(to path: RelativePath, _ file: FileIdentity, _ key: ContentKey) -> Bool {
        guard !wishIndex.isEmpty, record(of: path)?.key != key, !isPortrait(path) else { return false }
        let names = facts.storedRecords(of: key, atMost: Self.mostNames).map(\.path).sorted()
        let old = names.first {
            $0 != path && !isPortrait($0) && !isAway($0)
                && record(of: $0).map { $0.key == key && $0.wishFollowsContent } == true && facts.look(at: $0).isGone
        }
        guard let old else { return false }
        // Keeps the wish in case the original file reappears.
        noteDisplaced(at: old, by: file)
        follow(old, to: path)
        if var record = record(of: path), record.key == key {
            record.identity = file
            store(record)
        }
        return true
    }

    /// Follows a pending rename if the user acts on the file's new name, so that the action applies to the file.
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

    /// Returns a name that the file left and whose record holds a wish for the file.
    private func bearer(of file: FileIdentity, except path: RelativePath) -> RelativePath? {
        wishIndex.paths(of: file).prefix(Self.mostNames).first {
            $0 != path && storedRecord(of: $0)?.bearsWish(for: file) == true && hasLeft($0, file) && isAlike($0, path)
        }
    }

    /// Whether the file no longer has this name.
    private func hasLeft(_ path: RelativePath, _ file: FileIdentity) -> Bool {
        if isAway(path) { return false }
        switch facts.look(at: path) {
        case .there(_, let identity): return identity.inode != file.inode || identity.born != file.born
        case .nothing: return true
        case .unknown: return false
        }
    }

    /// Whether both names or neither are in the portrait folder. A file that crosses the folder's border starts over.
    private func isAlike(_ old: RelativePath, _ new: RelativePath) -> Bool { isPortrait(old) == isPortrait(new) }

    // MARK: Cancelled files

    /// Keeps a file cancelled if it was cancelled under its present name and was only touched or restored from a copy.
    ///
    /// - Returns: whether it stays cancelled. If so, the file needs no further handling.
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

    /// Records the confirmed removal of a file that the user cancelled.
    mutating func noteGone(_ record: DropRecord) {
        guard record.mayStandElsewhere else { return }
        var record = record
        record.flags = .fileIsGone
        store(record)
    }

    /// Whether the file of a missing name may be an arrival of equal size whose content is still unknown.
    func mayTurnUp(_ path: RelativePath) -> Bool {
        guard let record = record(of: path), record.wishFollowsContent, let size = record.identity?.size else {
            return false
        }
        return names.hasArrival(ofSize: size)
    }

    /// Stores the wishes for a path whose content is still unknown. Without wishes, deletes the path's record.
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
    /// Whether the record is about this file, even if the file was rewritten since.
    func isAboutInode(of file: FileIdentity) -> Bool {
        identity.map { $0.inode == file.inode && $0.born == file.born } ?? true
    }

    /// Whether the record is about this file, given that the file has the record's path. A file restored from a copy
    /// has another inode. If the record's content was never known, size and modification time decide.
    func isAbout(_ file: FileIdentity) -> Bool {
        guard let identity else { return false }
        if identity.mark == file.mark { return true }
        return isCancelledByUser && key == nil && identity.size == file.size && identity.modified == file.modified
    }
}

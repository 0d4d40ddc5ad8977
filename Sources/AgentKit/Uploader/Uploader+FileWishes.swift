import Ledger
import LinuxSystem
import UploadCore

// What a user wants of a file belongs to the file, not to its name: it follows the file to a name that nobody saw it get.
//
// A file is known again by inode, birth time, size and modification time. Where it has become another file, moved to
// another file system or restored from a copy, its content tells, as long as the old name has not been missed yet. While
// the old name is still there, the other file is a copy, and a file of its own.
extension Uploader {
    /// Most names that are looked at for one file.
    private static let mostNames = 100

    // MARK: Names that nobody saw change

    /// Takes along what the user wanted of a file that came under another name.
    ///
    /// - Returns: whether there was such a wish. There is nothing more to do with the file then.
    func followFile(to path: RelativePath, _ file: FileIdentity) -> Bool {
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
    private func followDisplaced(to path: RelativePath, _ file: FileIdentity) -> Bool {
        guard var record = displaced[file.mark], isAlike(record.path, path) else { return false }
        displaced[file.mark] = nil
        guard record.isCancelledByUser else {
            wishes.paused.insert(path)
            return false
        }
        forgetIntake(of: path)
        record.path = path
        record.identity = file
        record.flags = []
        process([], writes: [keep(record)], reporting: path)
        return true
    }

    /// Another file has the name of a file that the user cancelled or paused, which may turn up under another one.
    func noteDisplaced(at path: RelativePath, by file: FileIdentity?) {
        guard let record = storedRecord(of: path), record.isCancelledByUser || record.state == .paused,
            let old = record.identity, old.inode != file?.inode || old.born != file?.born
        else { return }
        displaced[old.mark] = record
    }

    /// Takes along what the user wanted of a content whose file is gone, under whatever name it is found.
    ///
    /// - Returns: whether there was such a wish.
    func followContent(to path: RelativePath, _ file: FileIdentity, _ key: ContentKey) -> Bool {
        let names = wishIndex.paths(of: key)
        guard !names.isEmpty, record(of: path)?.key != key, portrait(for: path) == nil else { return false }
        let old = names.prefix(Self.mostNames).sorted().first {
            $0 != path && portrait(for: $0) == nil && !isAway($0) && parts.files.isGone($0)
        }
        guard let old else { return false }
        follow(old, to: path)
        if var record = record(of: path), record.key == key {
            record.identity = file
            process([], writes: [keep(record)])
        }
        return true
    }

    /// A name that a user acts on may be the new one of a file that is on its way: then the file is meant.
    func recogniseRename(to path: RelativePath) {
        guard let new = drops[path], new.key == nil, !new.state.isFinal,
            let status = try? parts.files.status(of: path), status.kind == .regular
        else { return }
        let file = FileIdentity(status)
        let isIt = { (old: RelativePath) in old != path && self.hasLeft(old, file) && self.isAlike(old, path) }
        let old =
            names.formerName(of: file).flatMap { isIt($0) ? $0 : nil } ?? bearer(of: file, except: path)
            ?? drops.values.first { $0.key != nil && $0.identity?.mark == file.mark && isIt($0.path) }?.path
        if let old { follow(old, to: path) }
    }

    /// Where the file is now that had a name when a user asked for it a moment ago.
    func latestPath(withFormerID id: String) -> RelativePath? {
        var id = id
        for _ in 1...8 {
            guard let path = latestNames[id] else { return nil }
            if record(of: path) != nil { return path }
            id = FileReport.id(of: path)
        }
        return nil
    }

    /// Moves record, upload and wishes from a name that a file has left to the one it has now.
    func follow(_ old: RelativePath, to path: RelativePath) {
        // Its source may have moved with it, and must not miss it.
        lookForSource(above: path)
        let (isPaused, isFirst) = (wishes.paused.contains(path), wishes.first.contains(path))
        forgetIntake(of: path)
        names.stays(old)
        let isTaken = !parts.files.isGone(old)
        if isTaken, drops[old]?.key == nil, storedRecord(of: old)?.state.isFinal == true {
            // Only the file that bears the old name now is known there; the record is about the one before.
            drops[old] = nil
        }
        move(old, to: path)
        if isPaused, let record = drops[path] { _ = pause(record) }
        if isFirst, let record = drops[path] { _ = moveFirst(record) }
        if isTaken { reconsider(old) }
    }

    /// The name whose record says what the user wants of a file that has left that name.
    private func bearer(of file: FileIdentity, except path: RelativePath) -> RelativePath? {
        wishIndex.paths(of: file).prefix(Self.mostNames).first {
            $0 != path && hasLeft($0, file) && isAlike($0, path)
        }
    }

    /// Whether a file is not under a name any more.
    private func hasLeft(_ path: RelativePath, _ file: FileIdentity) -> Bool {
        guard !isAway(path) else { return false }
        guard let status = try? parts.files.status(of: path) else { return parts.files.isGone(path) }
        return status.inode != file.inode || status.born != file.born
    }

    /// Whether both names are in the portrait folder or neither is: on the way in or out a file becomes another thing.
    private func isAlike(_ old: RelativePath, _ new: RelativePath) -> Bool {
        (portrait(for: old) == nil) == (portrait(for: new) == nil)
    }

    // MARK: Files that are cancelled

    /// Whether a file was cancelled under the name it has: it was only touched, or restored from a copy.
    ///
    /// - Returns: whether it was. Nothing more becomes of it.
    func staysCancelled(
        _ path: RelativePath, _ file: FileIdentity, _ type: MediaType, _ content: DropContent
    ) -> Bool {
        guard portrait(for: path) == nil, var record = storedRecord(of: path), record.isCancelledByUser else {
            return false
        }
        let isSameContent = record.key == content.key && !record.flags.contains(.fileIsGone)
        guard isSameContent || record.isAbout(file) else { return false }
        forgetIntake(of: path)
        record.identity = file
        record.key = content.key
        record.type = type
        record.flags = []
        process([], writes: [keep(record)], reporting: path)
        return true
    }

    /// A file that the user cancelled has been gone for long enough.
    func noteGone(_ record: DropRecord) {
        guard record.mayStandElsewhere else { return }
        var record = record
        record.flags = .fileIsGone
        process([], writes: [keep(record)])
    }

    /// Whether a name that is gone may be found under a new one whose content is not known yet, as far as sizes tell.
    func mayTurnUp(_ path: RelativePath) -> Bool {
        guard wishIndex.followsContent(of: path), let size = record(of: path)?.identity?.size else { return false }
        return names.hasArrival(ofSize: size)
    }

    // MARK: Over a restart

    /// How the ledger remembers what is wanted of a path whose content is not known yet: it forgets the path where nothing
    /// is.
    func rememberWishes(for record: DropRecord) -> LedgerWrite {
        guard wishes.areKept(for: record.path) else { return .forgetDrop(record.path) }
        var record = record
        record.key = nil
        record.state = wishes.paused.contains(record.path) ? .paused : .settling
        record.flags = wishes.first.contains(record.path) ? .first : []
        if let status = try? parts.files.status(of: record.path) { record.identity = FileIdentity(status) }
        return .drop(record)
    }

    /// Takes up a path whose content was not known when the agent ended; the scan finds it.
    func restoreWishes(of record: DropRecord) {
        if record.state == .paused { wishes.paused.insert(record.path) }
        if record.flags.contains(.first) { wishes.first.insert(record.path) }
        var early = record
        if record.state == .paused {
            early = DropRecord(path: record.path, state: .settling, acceptedAt: record.acceptedAt)
            early.account = record.account
        }
        early.flags = []
        drops[record.path] = early
    }

    /// Takes up a file that was cancelled while it was being written.
    func restoreCancellation(of record: DropRecord) {
        guard record.isCancelledByUser, record.flags.contains(.cancelledEarly) else { return }
        wishes.cancelled.insert(record.path)
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

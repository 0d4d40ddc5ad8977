// Handles directories that become posts, are renamed, dissolve, vanish and return.
extension Posts {
    mutating func seen(_ path: RelativePath) {
        forgetRemoved(replacedBy: path)
        stir(path)
        guard let directory = directory(describedBy: path) else { return }
        add(.path(.descriptionFound(path)))
        found(directory)
    }

    /// Handles a path that settled.
    mutating func settled(_ path: RelativePath, _ identity: FileIdentity?) {
        forgetRemoved(replacedBy: path)
        guard let directory = directory(describedBy: path) else { return introduce(path) }
        add(.path(.descriptionFound(path)))
        found(directory)
        // Scans report unchanged files again.
        if let identity, book[directory]?.descriptionFile == identity { return }
        // The next scan reads a file again if it may be overwritten without a trace.
        let isRacy = identity?.isRacy(readAt: now.wall.milliseconds * 1_000_000) == true
        book[directory]?.descriptionFile = isRacy ? nil : identity
        add(.readDescription(directory))
    }

    mutating func read(_ directory: RelativePath, _ result: Result<SourceDescription, FileError>) {
        switch result {
        case .success(let description): tell(directory, [.described(description)])
        // An editor is replacing the file. The watch reports the new file.
        case .failure(let error) where error.retryable: book[directory]?.descriptionFile = nil
        case .failure(let error): tell(directory, [.malformed(error)])
        }
    }

    mutating func gone(_ path: RelativePath) {
        stir(path)
        if outboxIsLost { return }
        for directory in book.directories(within: path) { leaves(directory) }
        if let directory = directory(describedBy: path) { leaves(directory) }
    }

    mutating func renamed(_ old: RelativePath, to new: RelativePath, isDirectory: Bool) {
        stir(old)
        stir(new)
        if isDirectory { return movePosts(within: old, to: new) }
        let (from, to) = (directory(describedBy: old), directory(describedBy: new))
        if let from { leaves(from) }
        guard let to else { return }
        // The editor's temporary file may have been queued as an ordinary file.
        add(.path(.forget(old)))
        add(.path(.descriptionFound(new)))
        found(to)
        add(.settle(new))
    }

    /// Looks for a `source.toml` in the directories above a file, in case the watch has not reported the post yet.
    mutating func findPost(above path: RelativePath) {
        var directory = path.parent
        while !directory.bytes.isEmpty, book.directory(above: directory) == nil {
            let description = PostPlaces.description(of: directory)
            if self.directory(describedBy: description) != nil, !facts.isIgnored(description),
                case .there(.regular, _) = facts.look(at: description)
            {
                found(directory)
            }
            directory = directory.parent
        }
    }

    // MARK: A directory becomes a post

    /// Handles a `source.toml` found in a directory.
    private mutating func found(_ directory: RelativePath) {
        let mark = mark(of: directory)
        var isPaused = false
        if let known = book[directory] {
            guard isOver(known, mark) else { return recognise(directory, as: mark) }
            isPaused = isPausedStill(known.record, mark)
            forget(directory)
        }
        for inner in book.directories(within: directory) {
            dissolve(inner)
            add(.settle(PostPlaces.description(of: inner)))
        }
        if let old = book.directory(marked: mark), facts.look(at: PostPlaces.description(of: old)).isGone,
            let known = book[old]?.record
        {
            guard known.wasRemoved else {
                movePosts(within: old, to: directory)
                // Nobody reported the rename, so the path book may know the files by their new names already.
                return tellOfFiles(below: directory)
            }
            isPaused = isPausedStill(known, mark)
            forget(old)
        }
        let record = takeDeparted(directory, mark) ?? newPost(directory, mark, isPaused: isPaused)
        begin(record)
    }

    /// Adds a post and tells it about the files in its directory.
    private mutating func begin(_ record: SourceRecord) {
        let directory = record.directory
        book[directory] = SourceBook.Entry(machine: SourceMachine(record: record, now: now))
        add(.write(.source(record)))
        let description = PostPlaces.description(of: directory)
        // While the directory was part of another post, its description was an ordinary file.
        add(.path(.forget(description)))
        var events: [SourceEvent] = []
        var underWay: [RelativePath] = []
        for path in facts.names(below: directory) where path != description {
            guard var drop = facts.record(of: path) else { continue }
            if drop.wasRemoved {
                // The agent gave the file up when its directory was removed. Now the file is back.
                add(.path(.retry(path)))
                drop.state = .settling
                drop.error = nil
            }
            guard drop.hasFile, self.directory(of: drop) == directory, let name = path.relative(to: directory) else {
                continue
            }
            events.append(SourceEvent(drop, name))
            if drop.state != .settling, drop.key != nil, !drop.state.isFinal { underWay.append(name) }
        }
        events.append(.moved)
        switch facts.recoveredWish(ofPost: directory) {
        case .cancelled: events.append(.cancel)
        case .paused: events.append(.setPaused(true))
        case nil: break
        }
        tell(directory, [.adopt(underWay)] + events)
        add(.report(directory))
    }

    private func newPost(
        _ directory: RelativePath, _ mark: SourceRecord.DirectoryMark?, isPaused: Bool
    ) -> SourceRecord {
        let changed = facts.look(at: PostPlaces.description(of: directory)).identity?.changed
        let owner =
            facts.isSignedOut ? Ownership.nobody : ownership.owner(changed: changed, isFound: !hasScanned)
        var record = SourceRecord(
            id: facts.newID(), directory: directory, account: owner, stage: .collecting, acceptedAt: now.wall)
        record.mark = mark
        record.isPaused = isPaused
        return record
    }

    /// Returns the post of a directory that left the outbox during this run and is back. The confirmed post is not
    /// posted again.
    private mutating func takeDeparted(
        _ directory: RelativePath, _ mark: SourceRecord.DirectoryMark?
    ) -> SourceRecord? {
        guard let mark, var record = departed[mark] else { return nil }
        departed[mark] = nil
        record.directory = directory
        return record
    }

    // MARK: Recognising a directory

    /// Returns the identity of a directory; nil if the file system keeps no birth times, since inode numbers are
    /// reused.
    func mark(of directory: RelativePath) -> SourceRecord.DirectoryMark? {
        guard let identity = facts.look(at: directory).identity, identity.born != 0 else { return nil }
        return SourceRecord.DirectoryMark(inode: identity.inode, born: identity.born)
    }

    /// Whether a directory recreated under the same name is another post. A post under way continues with the files
    /// that are in the directory now.
    private func isOver(_ entry: SourceBook.Entry, _ mark: SourceRecord.DirectoryMark?) -> Bool {
        if entry.record.wasRemoved { return true }
        switch entry.record.stage {
        case .done, .failed, .cancelled:
            guard let mark, let old = entry.record.mark, mark != old else { return false }
            return !holdsItsFiles(entry)
        case .draft, .collecting, .uploading, .committing, .rejected: return false
        }
    }

    /// Whether one of the post's files is unchanged in its directory. In that case, the directory was restored from a
    /// copy or moved here with the whole outbox. In another outbox the size alone decides, since not every way of
    /// copying keeps times.
    private func holdsItsFiles(_ entry: SourceBook.Entry) -> Bool {
        let record = entry.record
        let isInOtherOutbox = elsewhere.contains(record.directory)
        var names = Set(entry.machine.files.keys).union(record.files.keys)
        if let post = record.post { names.formUnion(post.files.keys) }
        return names.contains { name in
            let path = record.directory.appending(name.bytes)
            guard let known = facts.record(of: path)?.identity,
                case .there(.regular, let present) = facts.look(at: path)
            else { return false }
            return known.size == present.size && (known.modified == present.modified || isInOtherOutbox)
        }
    }

    /// Continues the known post in a directory, even if the directory's mark differs.
    private mutating func recognise(_ directory: RelativePath, as mark: SourceRecord.DirectoryMark?) {
        elsewhere.remove(directory)
        guard let mark, let actions = book[directory]?.machine.recognise(as: mark), !actions.isEmpty else { return }
        carryOut(actions, of: directory)
    }

    /// Whether a post that vanished with its directory returns paused: the user paused this very directory.
    private func isPausedStill(_ record: SourceRecord, _ mark: SourceRecord.DirectoryMark?) -> Bool {
        record.isPaused && record.wasRemoved && mark != nil && mark == record.mark
    }

    // MARK: A post ends

    /// Starts the grace period of a vanished `source.toml`.
    mutating func leaves(_ directory: RelativePath) {
        if book[directory] != nil { add(.path(.descriptionMissing(PostPlaces.description(of: directory)))) }
    }

    /// Handles a `source.toml` that stayed away for the whole grace period.
    mutating func descriptionRemoved(from directory: RelativePath) {
        guard let record = book[directory]?.record else { return }
        book[directory]?.descriptionFile = nil
        if case .there(.directory, _) = facts.look(at: directory) { return dissolve(directory) }
        switch record.stage {
        case .draft, .collecting, .uploading, .committing: tell(directory, [.removed])
        case .cancelled where record.wasRemoved: break
        case .done:
            if let mark = record.mark { departed[mark] = record }
            forget(directory)
        case .failed, .rejected, .cancelled: forget(directory)
        }
    }

    /// Forgets a removed post once an ordinary directory has its name, so that the name means the new files.
    private mutating func forgetRemoved(replacedBy path: RelativePath) {
        guard let directory = book.removedDirectory(above: path),
            facts.look(at: PostPlaces.description(of: directory)).isGone
        else { return }
        forget(directory)
        add(.removeSidecar(directory))
    }

    /// Turns a post into an ordinary directory with ordinary files.
    private mutating func dissolve(_ directory: RelativePath) {
        guard let entry = book[directory] else { return }
        forget(directory)
        add(.removeSidecar(directory))
        for name in entry.machine.files.keys.sorted() {
            guard let record = facts.record(of: directory.appending(name.bytes)) else { continue }
            add(.reportFile(record.path))
            // The file may belong to an outer post now.
            changed(record)
        }
    }

    /// Forgets a post but keeps its files. Those that only the post held may be sent.
    mutating func forget(_ directory: RelativePath) {
        guard let machine = book[directory]?.machine else { return }
        let id = machine.record.id
        book[directory] = nil
        add(.upload(.gather(id, [])))
        add(.upload(.withdrawCommit(id)))
        add(.write(.forgetSource(id)))
        add(.announceGone(id: id, directory))
        // Without their directory, the files are about to count as removed.
        guard case .there(.directory, _) = facts.look(at: directory) else { return }
        // The post may not know all files that it holds: news of some may be on the way.
        for path in facts.onTheirWay(within: directory).sorted() {
            guard let record = facts.record(of: path), let key = record.key,
                facts.isPaused(path, for: key) == true, !facts.isPausedByUser(record)
            else { continue }
            hold(path, key, holds(record))
        }
    }

    // MARK: A directory is renamed

    /// Moves the posts of a renamed directory.
    private mutating func movePosts(within old: RelativePath, to new: RelativePath) {
        for directory in book.directories(within: old) {
            guard let target = directory.moved(from: old, to: new), var entry = book[directory] else { continue }
            add(.path(.descriptionFound(PostPlaces.description(of: directory))))
            add(.path(.descriptionFound(PostPlaces.description(of: target))))
            add(.path(.forget(PostPlaces.description(of: target))))
            // The rename replaced the post at the new place.
            forget(target)
            book[directory] = nil
            let actions = entry.machine.move(to: target)
            book[target] = entry
            add(.removeSidecar(directory))
            carryOut(actions, of: target)
            if book.directory(above: target.parent) != nil { joinOuter(target) }
        }
    }

    /// Turns a post that moved into another post into a part of the outer post.
    private mutating func joinOuter(_ directory: RelativePath) {
        dissolve(directory)
        add(.settle(PostPlaces.description(of: directory)))
        tellOfFiles(below: directory)
    }

    private mutating func tellOfFiles(below directory: RelativePath) {
        for path in facts.names(below: directory) {
            if let record = facts.record(of: path) { changed(record) }
        }
    }

    /// Gives to an account the posts that arrived while nobody was signed in.
    mutating func give(to account: String) {
        for directory in book.directories {
            guard let entry = book[directory], ownership.owner(entry.record.account) == nil,
                let actions = book[directory]?.machine.give(to: account)
            else { continue }
            carryOut(actions, of: directory)
        }
    }
}

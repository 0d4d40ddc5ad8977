// Handles files that arrive, change, are renamed or disappear.
extension SourceMachine {
    mutating func tell(_ name: RelativePath, _ file: SourceFile, now: Now) {
        let old = files[name]
        if file.state != .cancelled { awaited.remove(name) }
        gone.remove(name)
        if file != old {
            keepID(of: name, unlessIn: file)
            files[name] = file
            isChanged = true
            isDirty = true
            if file.isMove(from: old) { movedAt = now.monotonic }
        }
        if file.state == .done, file.key == record.files[name] { unverified.remove(name) }
        if record.stage == .uploading { follow(name, file) }
    }

    /// Applies a file's new state to the revision in progress.
    private mutating func follow(_ name: RelativePath, _ file: SourceFile) {
        guard let key = record.files[name], !isDone(name) else { return }
        if let new = file.key, new != key, file.isUsable {
            record.files[name] = new
            unverified.remove(name)
        } else if file.state == .cancelled || file.state == .rejected {
            leaveOut(name)
        }
    }

    mutating func lose(_ name: RelativePath, now: Now) {
        keepID(of: name, unlessIn: nil)
        if files.removeValue(forKey: name) != nil {
            movedAt = now.monotonic
            isDirty = true
            isChanged = true
        }
        if record.files[name] != nil || record.post?.files[name] != nil, gone.insert(name).inserted { isChanged = true }
        adopted.remove(name)
        awaited.remove(name)
        if record.stage == .uploading, record.files[name] != nil, !isDone(name) { leaveOut(name) }
        unverified.remove(name)
    }

    mutating func rename(_ name: RelativePath, to new: RelativePath, now: Now) {
        guard name != new else { return }
        let wasAdopted = adopted.contains(name)
        let wasAwaited = awaited.contains(name)
        let file = files[name]
        if isTaken, record.files[new] == nil, record.files[name] != nil || record.skipped.contains(name) {
            moveMembership(name, to: new)
            lose(name, now: now)
        } else {
            lose(name, now: now)
            if let file { tell(new, file, now: now) }
        }
        if wasAdopted { adopted.insert(new) }
        if wasAwaited {
            awaited.insert(new)
            actions.append(.retryFiles([new]))
        }
        movedAt = now.monotonic
        isDirty = true
        isChanged = true
    }

    /// Keeps a renamed file in the revision, or left out of it.
    private mutating func moveMembership(_ name: RelativePath, to new: RelativePath) {
        if let key = record.files.removeValue(forKey: name) {
            record.files[new] = key
            record.skipped.remove(new)
            if unverified.remove(name) != nil {
                unverified.insert(new)
                actions.append(.verify([new]))
            }
        } else {
            record.skipped.remove(name)
            record.skipped.insert(new)
        }
        files[new] = files.removeValue(forKey: name)
        gone.remove(new)
    }

    /// Drops a file from the revision.
    mutating func leaveOut(_ name: RelativePath) {
        record.files[name] = nil
        record.skipped.insert(name)
        unverified.remove(name)
    }

    /// Remembers the server's id of a content of the revision whose file is about to change or disappear.
    private mutating func keepID(of name: RelativePath, unlessIn file: SourceFile?) {
        guard isTaken, let key = record.files[name], file?.key != key, !unverified.contains(name),
            let id = confirmedID(of: key, in: name)
        else { return }
        record.departed[key] = id
    }

    private func confirmedID(of key: ContentKey, in name: RelativePath) -> String? {
        guard let file = files[name], file.state == .done, file.key == key else { return nil }
        return file.remoteID
    }

    /// Returns the server's id of a content of the revision; nil before its confirmation.
    func remoteID(of key: ContentKey) -> String? {
        let names = record.files.keys.filter { record.files[$0] == key && confirmedID(of: key, in: $0) != nil }
        return names.min().flatMap { confirmedID(of: key, in: $0) } ?? record.departed[key]
    }

    /// Whether the server has the content that the revision records for a file.
    func isDone(_ name: RelativePath) -> Bool {
        guard let key = record.files[name], !unverified.contains(name) else { return false }
        return remoteID(of: key) != nil
    }
}

extension SourceFile {
    /// Whether the file can be part of a revision.
    var isUsable: Bool { key != nil && !isComing && state != .failed && !isLeftOut }

    /// Whether the file's content is still unknown.
    var isComing: Bool { [.settling, .hashing, .processing].contains(state) || (key == nil && !state.isFinal) }

    /// Whether revisions leave the file out.
    var isLeftOut: Bool { state == .rejected || state == .cancelled }

    /// Whether the file itself changed, not only its progress.
    func isMove(from old: SourceFile?) -> Bool {
        guard let old else { return true }
        return (old.key != nil && key != old.key) || (state == .settling && old.state != .settling)
    }
}

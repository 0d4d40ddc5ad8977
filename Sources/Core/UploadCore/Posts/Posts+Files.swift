// Tells posts about their files, and holds files back for their posts.
extension Posts {
    /// Pauses a path that its post holds, even if the user did not pause the path.
    ///
    /// - Parameter record: returns the record of a path on its way.
    /// - Returns: the event to send to the upload machine instead.
    package func held(_ event: MachineEvent, record: (RelativePath) -> DropRecord?) -> MachineEvent {
        if book.isEmpty { return event }
        func isHeld(_ path: RelativePath) -> Bool { record(path).map(holds) ?? false }
        switch event {
        case .join(let path, let content, paused: false):
            return .join(path, content, paused: isHeld(path))
        case .verify(let path, let content, let remote, paused: false):
            return .verify(path, content, remote, paused: isHeld(path))
        case .setPaused(let path, let key, false):
            return .setPaused(path, key, isHeld(path))
        default: return event
        }
    }

    /// Tells a post that a file of it changed.
    mutating func changed(_ record: DropRecord) {
        guard let directory = book.directory(above: record.path), let name = record.path.relative(to: directory) else {
            return
        }
        if record.path == PostPlaces.description(of: directory) {
            // A file became the description by a rename of a directory.
            return add(.path(.forget(record.path)))
        }
        if self.directory(of: record) != directory {
            // Another account's file took the name.
            if book[directory]?.machine.files[name] != nil { tell(directory, [.gone(name)]) }
            return
        }
        if record.hasFile { tell(directory, [SourceEvent(record, name)]) }
        noteProgress(of: directory, now: now.monotonic)
    }

    /// Tells a post of a known file that was away when its directory became a post.
    mutating func introduce(_ path: RelativePath) {
        guard let directory = book.directory(above: path), let name = path.relative(to: directory),
            book[directory]?.machine.files[name] == nil, let record = facts.record(of: path)
        else { return }
        changed(record)
    }

    /// Tells a post that a file of it is no longer listed.
    mutating func lost(_ record: DropRecord) {
        guard record.hasFile, let directory = directory(of: record), let name = record.path.relative(to: directory)
        else { return }
        tell(directory, [.gone(name)])
    }

    /// Tells a post that a file of it has another name, within the post or elsewhere.
    mutating func moved(_ old: DropRecord, to record: DropRecord) {
        guard let from = directory(of: old), let name = old.path.relative(to: from) else { return }
        if directory(of: record) == from, let new = record.path.relative(to: from) {
            tell(from, [.renamed(name, to: new)])
        } else {
            tell(from, [.gone(name)])
        }
    }

    /// Tells a post that something below its directory moved.
    mutating func stir(_ path: RelativePath) {
        guard let directory = book.directory(above: path), path != directory else { return }
        tell(directory, [.moved])
    }

    /// Whether a post that is about to make a revision has files that the watch has not reported. On a busy machine or a
    /// slow disk, a quiet watch proves little. The unreported files are examined again.
    mutating func awaitsWatch(_ directory: RelativePath) -> Bool {
        guard let entry = book[directory], entry.machine.isAboutToBeTaken(at: now.monotonic),
            entry.machine.files.count <= SourceRecord.mostFiles
        else { return false }
        let since = entry.waitsForWatchSince ?? now.monotonic
        let unheard = now.monotonic < since + Self.watchPatience ? unheardFiles(of: directory) : []
        book[directory]?.waitsForWatchSince = unheard.isEmpty ? nil : since
        for path in unheard { add(.settle(path)) }
        return !unheard.isEmpty
    }

    private func unheardFiles(of directory: RelativePath) -> [RelativePath] {
        let description = PostPlaces.description(of: directory)
        return facts.names(below: directory).filter { path in
            path != description && facts.record(of: path)?.wasRemoved != false && !isIgnored(path, within: directory)
        }
    }

    /// Whether the file is ignored, or a directory between the file and its post is.
    private func isIgnored(_ path: RelativePath, within directory: RelativePath) -> Bool {
        var part = path
        while part != directory, !part.bytes.isEmpty {
            if facts.isIgnored(part) { return true }
            part = part.parent
        }
        return false
    }

    /// Handles a path that stayed away for the whole grace period. If a whole post vanished, handles the post first:
    /// otherwise its remaining files would look like the complete post.
    mutating func missing(_ path: RelativePath) {
        if let directory = directory(describedBy: path), book[directory] != nil {
            return descriptionRemoved(from: directory)
        }
        if let directory = book.directory(above: path.parent),
            facts.look(at: PostPlaces.description(of: directory)).isGone
        {
            descriptionRemoved(from: directory)
        }
        add(.path(.removed(path)))
    }
}

extension SourceEvent {
    /// Makes the event that passes a file's record to the post's machine.
    package init(_ record: DropRecord, _ name: RelativePath) {
        if record.wasRemoved {
            self = .gone(name)
            return
        }
        let isKnown = record.key != nil && ![.settling, .hashing, .processing].contains(record.state)
        var file = SourceFile(state: record.state, key: isKnown ? record.key : nil, error: record.error)
        if record.state == .done { file.remoteID = record.remote?.id }
        file.isPicture = record.type?.kind == .image
        self = .file(name, file)
    }
}

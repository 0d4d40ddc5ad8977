// Commits a revision, from the last confirmed file to the server's confirmation.
extension SourceMachine {
    /// How many numbers in a row the server may refuse because it has other files under them: 20. A server that names
    /// its latest revision refuses one.
    static let mostTaken = 20

    /// Continues a revision once all its files reached a final state.
    mutating func finishRevision() {
        if record.files.isEmpty { return loseAll() }
        var failed: [RelativePath] = []
        for name in record.files.keys where !isDone(name) {
            guard files[name]?.state == .failed, !awaited.contains(name) else { return }
            failed.append(name)
        }
        if let error = firstFailed(of: failed) {
            adoptSeenDescription()
            record.stage = .failed(error)
        } else if !record.isPaused {
            timesAsked = 0
            record.stage = .committing(commit())
        }
    }

    private mutating func loseAll() {
        adoptSeenDescription()
        let message = "every file of the post was removed or cancelled before the post was committed"
        record.stage = .cancelled(FileError(code: "removed", message: message, retryable: false))
    }

    private func commit() -> SourceCommit {
        var ids: [String] = []
        for (_, key) in record.files.sorted(by: { $0.key < $1.key }) {
            if let id = remoteID(of: key), !ids.contains(id) { ids.append(id) }
        }
        let title = record.description?.title ?? ""
        let name = RelativePath.root.appending(record.directory.name).description
        return SourceCommit(
            sourceID: record.id, revision: record.revision, title: title.isEmpty ? name : title,
            cover: cover.flatMap { record.files[$0] }.flatMap { remoteID(of: $0) }, fileIDs: ids,
            createdAt: record.acceptedAt)
    }

    /// Requests or withdraws the commit, depending on the stage and the user's pause.
    mutating func settleCommit() {
        var wanted: SourceCommit?
        if case .committing(let commit) = record.stage, !record.isPaused { wanted = commit }
        guard wanted != commitOut else { return }
        if commitOut != nil { actions.append(.withdrawCommit) }
        if let wanted {
            actions.append(.commit(wanted, forgotten: forgotten))
            timesAsked += 1
        }
        commitOut = wanted
    }

    mutating func committed(_ revision: Int, _ outcome: CommitOutcome) {
        guard case .committing(let commit) = record.stage, commit.revision == revision else { return }
        commitOut = nil
        // The answer may belong to an earlier request than the last.
        if timesAsked > 1 { actions.append(.withdrawCommit) }
        switch outcome {
        case .done(let url):
            taken = 0
            record.post = .init(
                revision: revision, url: url, description: record.description ?? SourceDescription(),
                files: record.files)
            record.departed = [:]
            forgotten = 0
            adoptSeenDescription()
            record.stage = .done
        case .refused(let error):
            if timesAsked > 1 { record.revision += 1 }
            fail(error)
        case .taken(let latest): repeatLater(commit, than: max(latest, revision))
        case .forgotten: askAgain()
        }
    }

    private mutating func fail(_ error: FileError) {
        forgotten = 0
        taken = 0
        adoptSeenDescription()
        record.stage = .failed(error)
    }

    /// Commits the same files under the next number, because the server has other files under the present one.
    private mutating func repeatLater(_ commit: SourceCommit, than latest: Int) {
        taken += 1
        record.revision = latest + 1
        if taken > Self.mostTaken { return fail(.revisionsTaken(upTo: latest)) }
        timesAsked = 0
        var next = commit
        next.revision = record.revision
        record.stage = .committing(next)
    }

    /// Verifies all files that can be sent again, because the server lost a content and does not say which.
    private mutating func askAgain() {
        forgotten += 1
        record.stage = .uploading
        for name in record.files.keys.sorted() { doubt(name) }
        let names = record.files.keys.filter { files[$0]?.state == .done && files[$0]?.key == record.files[$0] }
            .sorted()
        unverified = Set(names)
        if !names.isEmpty { actions.append(.verify(names)) }
    }

    /// Decides about a file that vanished or changed after its confirmation and can't be sent again. The file stays in
    /// the revision at first, since the server may have lost another content. If the server still misses one after the
    /// others are verified, the revision drops the file.
    private mutating func doubt(_ name: RelativePath) {
        guard let key = record.files[name], files[name]?.key != key else { return }
        if forgotten == 1, remoteID(of: key) != nil { return }
        if let file = files[name], file.isUsable {
            record.files[name] = file.key
        } else if files[name] != nil || gone.contains(name) {
            leaveOut(name)
        }
    }
}

extension FileError {
    static func revisionsTaken(upTo revision: Int) -> FileError {
        let message =
            "the server has other files under every revision of this post up to \(revision); run `outbox retry` to go on "
            + "with the next numbers"
        return FileError(code: "revision_taken", message: message, retryable: false)
    }
}

// Restores posts from the ledger at start, and brings them in line with the findings of full scans.
extension Posts {
    /// Restores the posts in the ledger. `PostsEvent.started` passes the files to them later.
    ///
    /// - Parameter isOtherServer: whether the account's last run used another server. This server then knows no
    ///   earlier revision.
    /// - Returns: changes of the ledger.
    package mutating func restore(
        _ records: [SourceRecord], isOtherServer: Bool, now: Now, facts: any PostFacts
    ) -> [LedgerWrite] {
        var writes: [LedgerWrite] = []
        _ = step(now, facts) { posts in
            for record in records { writes += posts.restore(record, isOtherServer: isOtherServer) }
        }
        return writes
    }

    private mutating func restore(_ stored: SourceRecord, isOtherServer: Bool) -> [LedgerWrite] {
        var record = stored
        var writes: [LedgerWrite] = []
        if isOtherServer, !isParked(record), let anew = anew(record) {
            writes += [.forgetSource(record.id), .source(anew)]
            record = anew
        }
        if let other = book[record.directory]?.record {
            // One directory replaced the other, and a kill prevented storing that.
            let isThere = record.mark != nil && record.mark == mark(of: record.directory)
            writes.append(.forgetSource(isThere ? other.id : record.id))
            if !isThere { return writes }
        }
        book[record.directory] = SourceBook.Entry(machine: SourceMachine(record: record, now: now))
        return writes
    }

    /// Restarts a post under a new id, since its revisions belong to another server; nil if it has no revisions.
    private func anew(_ old: SourceRecord) -> SourceRecord? {
        switch old.stage {
        case .draft, .rejected, .cancelled: return nil
        case .collecting where old.revision == 0: return nil
        case .collecting, .uploading, .committing, .done, .failed: break
        }
        var record = SourceRecord(
            id: facts.newID(), directory: old.directory, account: old.account, stage: .collecting,
            acceptedAt: old.acceptedAt)
        record.mark = old.mark
        record.isPaused = old.isPaused
        record.description = old.description
        return record
    }

    /// Returns which uploads belong together. The upload machine must know this before anything else.
    package mutating func gatherAll() -> [MachineEvent] {
        book.directories.compactMap { directory in
            guard let entry = book[directory], !isParked(entry.record), !entry.machine.gathered.isEmpty else {
                return nil
            }
            book[directory]?.gathered = entry.machine.gathered
            return .gather(entry.record.id, entry.machine.gathered)
        }
    }

    /// Passes all files to their posts, including those that the agent itself moved out of the outbox.
    mutating func start() {
        if book.isEmpty { return }
        var events: [RelativePath: [RelativePath: SourceEvent]] = [:]
        for directory in book.directories {
            facts.forEachRecord(within: directory) { record in
                guard self.directory(of: record) == directory, let name = record.path.relative(to: directory) else {
                    return
                }
                events[directory, default: [:]][name] = SourceEvent(record, name)
            }
        }
        for directory in book.directories {
            guard let record = book[directory]?.record else { continue }
            var known = events[directory] ?? [:]
            for name in Set(record.files.keys).union((record.post?.files ?? [:]).keys) where known[name] == nil {
                let path = directory.appending(name.bytes)
                if facts.record(of: path) != nil {
                    // Another account's file took the name.
                    known[name] = .gone(name)
                } else {
                    // The first scan shows whether the file exists.
                    known[name] = .file(name, SourceFile(state: .settling))
                    unfound.append(path)
                }
            }
            tell(directory, known.sorted { $0.key < $1.key }.map(\.value))
        }
    }

    // MARK: Scans

    /// Handles a full scan: posts that were not found are leaving, and expired posts are forgotten.
    mutating func scanned(_ findings: any ScanFindings) {
        hasScanned = true
        if outboxIsLost { return }
        for path in unfound where !findings.contains(path) && facts.record(of: path) == nil {
            guard let directory = book.directory(above: path), let name = path.relative(to: directory) else { continue }
            tell(directory, [.gone(name)])
        }
        unfound = []
        for directory in book.directories { loseFailedFiles(of: directory, findings) }
        for directory in book.directories where mayRetire(directory) { add(.retire(directory)) }
        for directory in book.directories {
            guard let record = book[directory]?.record else { continue }
            let description = PostPlaces.description(of: directory)
            if record.wasRemoved {
                if isOver(record) { forget(directory) }
            } else if !facts.isLeaving(description), !findings.contains(description) {
                leaves(directory)
            }
        }
    }

    /// Tells a post about vanished files that failed or were cancelled, so that the post stops waiting for them. The
    /// records of these files stay for their retention.
    private mutating func loseFailedFiles(of directory: RelativePath, _ findings: any ScanFindings) {
        let files = book[directory]?.machine.files ?? [:]
        for (name, file) in files.sorted(by: { $0.key < $1.key })
        where file.state == .failed || file.state == .cancelled {
            if !findings.contains(directory.appending(name.bytes)) { tell(directory, [.gone(name)]) }
        }
    }

    // MARK: Files leave the outbox

    /// Returns the files of a confirmed post that may leave the outbox (`intake.after_upload`).
    package func retirableFiles(of directory: RelativePath) -> [RelativePath] {
        guard !rules.paths.keepsFiles, let machine = book[directory]?.machine, !machine.keepsFiles else { return [] }
        return machine.files.keys.sorted().map { directory.appending($0.bytes) }
    }

    /// Whether all files of a confirmed post have left the outbox, so that its description may follow. If files are
    /// deleted, the description stays until its retention ends.
    private func mayRetire(_ directory: RelativePath) -> Bool {
        guard !rules.paths.keepsFiles, let entry = book[directory], case .done = entry.record.stage,
            !entry.machine.keepsFiles, let post = entry.record.post,
            post.files.keys.allSatisfy({ hasLeft(directory.appending($0.bytes)) })
        else { return false }
        return rules.paths.fate != .delete || isOver(entry.record)
    }

    /// Whether a file has left the outbox. A file in the holding area has not left yet.
    private func hasLeft(_ path: RelativePath) -> Bool {
        !facts.isRetiring(path) && facts.record(of: path)?.hasFile != true
    }

    /// Whether the retention of a final post is over.
    private func isOver(_ record: SourceRecord) -> Bool {
        record.finishedAt != nil && facts.retention.isOver(record.finishedAt, at: now.wall)
    }
}

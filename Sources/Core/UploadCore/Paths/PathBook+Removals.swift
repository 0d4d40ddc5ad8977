// Handles files that disappear, and the findings of full scans.
extension PathBook {
    /// Records that a name is gone: a file, or a directory with everything below it.
    mutating func gone(_ path: RelativePath) {
        guard !outboxIsLost, !retirement.explainsAbsence(of: path) else { return }
        if let record = record(of: path) {
            names.leaves(path, file: record.identity, now: now.monotonic)
        } else if hashing[path] != nil {
            names.leaves(path, file: nil, now: now.monotonic)
        } else {
            var below: [DropRecord] = []
            forEachDrop(within: path) { below.append($0) }
            for record in below { names.leaves(record.path, file: record.identity, now: now.monotonic) }
        }
    }

    /// Confirms the removal of names whose grace period is over.
    mutating func confirmLeaving() {
        for path in names.takeDue(now: now.monotonic) {
            // If the outbox itself is missing, nothing was removed.
            guard !isMissing(path), facts.look(at: .root).identity != nil else { continue }
            if mayTurnUp(path) {
                names.leaves(path, file: record(of: path)?.identity, now: now.monotonic)
                continue
            }
            switch facts.look(at: path) {
            case .nothing, .there(.directory, _): add(.confirmRemoval(path))
            // Another spelling of a name that was found: case-insensitive file systems have one file under both.
            case .there where !facts.isListed(path): add(.confirmRemoval(path))
            // The name exists. If its file vanished before the hash, settle the path again.
            case .there: if let record = drops[path], record.key == nil, hashing[path] == nil { add(.settle(path)) }
            case .unknown: break
            }
        }
    }

    mutating func removed(_ path: RelativePath) {
        forgetIntake(of: path)
        guard let record = record(of: path) else { return }
        switch record.state {
        // The agent removed the file itself.
        case .done where !record.hasFile || retirement.covers(path): break
        case .done, .rejected: forget(path: path)
        case .cancelled:
            add(.postLost(record))
            noteGone(record)
        case .failed:
            add(.postLost(record))
            cancelRemoved(record)
        default:
            if let key = record.key {
                if isPortrait(path) {
                    add(.portrait(.removed(path, key)))
                    // The picture may be on the server already; the sender reports its outcome.
                    if handedOver.contains(path) { return }
                    foundPortraits.remove(path)
                }
                add(.upload(.leave(path, key)))
            }
            cancelRemoved(record)
        }
    }

    private mutating func cancelRemoved(_ old: DropRecord) {
        var record = old
        record.state = .cancelled
        record.identity = nil
        record.finishedAt = now.wall
        record.error = .removed
        store(record)
        add(.reportWhenDurable(record.path))
    }

    /// Forgets a path and removes its sidecar.
    mutating func forget(path: RelativePath) {
        let record = record(of: path)
        drops[path] = nil
        racyFiles.forget(path)
        add(.removeSidecar(path))
        add(.announceGone(path))
        add(write: .forgetDrop(path))
        if let key = record?.key { add(.releaseContent(key)) }
        if let record { add(.postLost(record)) }
    }

    /// Forgets a file whose retention is over. A moved file keeps its sidecar.
    mutating func forget(_ record: DropRecord) {
        guard case .moved = record.disposal else { return forget(path: record.path) }
        add(.announceGone(record.path))
        add(write: .forgetDrop(record.path))
        if let key = record.key { add(.releaseContent(key)) }
    }

    /// Records a removed, unfinished file as cancelled if only its sidecar is left.
    mutating func cancelRemoved(_ path: RelativePath) {
        var record = DropRecord(path: path, state: .cancelled, acceptedAt: now.wall)
        record.account = newOwner(changed: nil)
        record.finishedAt = now.wall
        record.error = .removed
        store(record)
        add(.reportWhenDurable(path))
    }

    /// Handles the end of a full scan: files under way that were not found are leaving. `compared` follows for the
    /// paths that only the ledger holds.
    mutating func scanned(_ findings: any ScanFindings) {
        hasScanned = true
        guard !outboxIsLost else { return }
        retirement.forgetWithdrawnNames()
        for (path, record) in drops where !names.isLeaving(path) && !findings.contains(path) {
            names.leaves(path, file: record.identity, now: now.monotonic)
        }
        if isRecovering, findings.isWhole {
            isRecovering = false
            add(.recovered)
        }
    }

    /// Compares records of the ledger with a full scan: files that were not found are leaving; expired records are
    /// forgotten.
    mutating func compare(_ records: [DropRecord], with findings: any ScanFindings) {
        guard !outboxIsLost else { return }
        for record in records where drops[record.path] == nil && !findings.contains(record.path) {
            if !record.state.isFinal || !record.outlivesFile || record.mayStandElsewhere {
                guard !names.isLeaving(record.path), !retirement.covers(record.path) else { continue }
                names.leaves(record.path, file: record.identity, now: now.monotonic)
            } else if retention.isOver(record.finishedAt, at: now.wall) {
                forget(record)
            }
        }
    }

    /// Removes from `elsewhere` every path that the scan found or that is no longer known. Call before
    /// `PathEvent.scanned`.
    ///
    /// - Parameter isPost: whether a path is the description of a known post.
    package mutating func findElsewhere(
        _ findings: any ScanFindings, facts: any PathFacts, isPost: (RelativePath) -> Bool
    ) {
        elsewhere = elsewhere.filter { path in
            let isUnderWay = drops[path] != nil || facts.storedRecord(of: path)?.state.isFinal == false
            return (isUnderWay || isPost(path)) && !findings.found(path)
        }
    }

    /// Expects every known path of a directory, and these descriptions of posts, in another place than this outbox.
    mutating func expectElsewhere(within directory: RelativePath, _ descriptions: [RelativePath]) {
        elsewhere.formUnion((drops.keys + descriptions).filter { $0.isWithin(directory) })
        guard facts.hasBacklog else { return }
        facts.forEachStoredRecord(within: directory) { if !$0.state.isFinal { elsewhere.insert($0.path) } }
    }

    /// Whether a name is gone while its removal does not count yet.
    package func isLeaving(_ path: RelativePath) -> Bool { names.isLeaving(path) }

    /// Whether a path is being hashed.
    package func isHashing(_ path: RelativePath) -> Bool { hashing[path] != nil }

    /// The number of paths being hashed or waiting for it.
    package var hashCount: Int { hashing.count }

    /// Returns how many bytes of a large file are hashed.
    package func bytesHashed(of path: RelativePath) -> UInt64? { hashedBytes[path] }

    /// Returns how far the processing of a file is.
    package func processingProgress(of path: RelativePath) -> ProcessingProgress? { processed[path] }
}

extension DropRecord {
    /// Whether this file was already handled: its content is known, or the file was rejected, failed or cancelled.
    package func isJudged(for identity: FileIdentity) -> Bool {
        self.identity == identity && disposal == nil && !wasRemoved
            && (key != nil || state == .rejected || state == .failed || state == .cancelled)
    }

    /// Whether the agent believes the file to be in the outbox under this path.
    package var hasFile: Bool { disposal == nil || disposal == .pending }

    /// Whether the record is only a pointer from an old path to the file's new place.
    package var isTrace: Bool { if case .movedAway = disposal { true } else { false } }

    /// Whether the outcome stays visible for a while after the file is gone.
    var outlivesFile: Bool {
        switch state {
        case .cancelled: true
        case .done: !hasFile
        default: false
        }
    }

    /// Whether the user cancelled the file and its removal is not confirmed yet. The file may appear under another
    /// name.
    var mayStandElsewhere: Bool { isCancelledByUser && !flags.contains(.fileIsGone) }

    /// Whether the record of a vanished file can be deleted.
    package func isPrunable(at now: WallTime, _ retention: Retention) -> Bool {
        state.isFinal && (!outlivesFile || retention.isOver(finishedAt, at: now))
    }
}

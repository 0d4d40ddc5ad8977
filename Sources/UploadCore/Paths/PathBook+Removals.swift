// Files that go, and what a full scan tells of them.
extension PathBook {
    /// A name is gone: a file, or a directory with everything below it.
    mutating func gone(_ path: RelativePath) {
        guard !outboxIsLost, withdrawn.remove(path) == nil, retiring[path] == nil else { return }
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

    /// Acts on names that have been gone for long enough.
    mutating func confirmLeaving() {
        for path in names.takeDue(now: now.monotonic) {
            // The outbox itself must be there, or nothing was removed.
            guard !isMissing(path), facts.look(at: .root).identity != nil else { continue }
            if mayTurnUp(path) {
                names.leaves(path, file: record(of: path)?.identity, now: now.monotonic)
                continue
            }
            switch facts.look(at: path) {
            case .nothing, .there(.directory, _): add(.confirmRemoval(path))
            // It is there; if its file was missed while it was to be hashed, it is looked at again.
            case .there: if let record = drops[path], record.key == nil, hashing[path] == nil { add(.settle(path)) }
            case .unknown: break
            }
        }
    }

    mutating func removed(_ path: RelativePath) {
        forgetIntake(of: path)
        guard var record = record(of: path) else { return }
        switch record.state {
        // What the agent did itself.
        case .done where !record.hasFile || retiring[path] != nil: break
        case .done, .rejected: forget(path: path)
        case .failed, .cancelled:
            add(.postLost(record))
            noteGone(record)
        default:
            if let key = record.key {
                if isPortrait(path) {
                    add(.portrait(.removed(path, key)))
                    // It may be on the server by now; who sends it tells.
                    if handedOver.contains(path) { return }
                    foundPortraits.remove(path)
                }
                add(.upload(.leave(path, key)))
            }
            record.state = .cancelled
            record.identity = nil
            record.finishedAt = now.wall
            record.error = .removed
            store(record)
            add(.reportWhenDurable(path))
        }
    }

    /// Forgets a path, with its sidecar.
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

    /// Forgets a file that is gone for longer than its outcome is kept. What was moved keeps its sidecar.
    mutating func forget(_ record: DropRecord) {
        guard case .moved = record.disposal else { return forget(path: record.path) }
        add(.announceGone(record.path))
        add(write: .forgetDrop(record.path))
        if let key = record.key { add(.releaseContent(key)) }
    }

    /// A file that was removed before it was done, of which only its sidecar tells any more.
    mutating func cancelRemoved(_ path: RelativePath) {
        var record = DropRecord(path: path, state: .cancelled, acceptedAt: now.wall)
        record.account = newOwner(changed: nil)
        record.finishedAt = now.wall
        record.error = .removed
        store(record)
        add(.reportWhenDurable(path))
    }

    /// After a full scan: what is known and was not found is gone, and what is gone for long enough is forgotten.
    mutating func scanned(_ findings: any ScanFindings) {
        hasScanned = true
        guard !outboxIsLost else { return }
        withdrawn = []
        for (path, record) in drops where !names.isLeaving(path) && !findings.contains(path) {
            names.leaves(path, file: record.identity, now: now.monotonic)
        }
        var missed: [DropRecord] = []
        var stale: [DropRecord] = []
        facts.forEachStoredRecord(within: .root) { record in
            guard record.state.isFinal, drops[record.path] == nil, !findings.contains(record.path) else { return }
            if !record.outlivesFile || record.mayStandElsewhere {
                missed.append(record)
            } else if record.isOver(at: now.wall, retention: rules.retention) {
                stale.append(record)
            }
        }
        for record in missed where !names.isLeaving(record.path) && retiring[record.path] == nil {
            names.leaves(record.path, file: record.identity, now: now.monotonic)
        }
        for record in stale { forget(record) }
        if isRecovering, findings.isWhole {
            isRecovering = false
            add(.recovered)
        }
    }

    /// Before the rest of a scan: what it found is here.
    ///
    /// - Parameter isPost: whether a path is the description of a post that is known.
    package mutating func findElsewhere(_ findings: any ScanFindings, isPost: (RelativePath) -> Bool) {
        elsewhere = elsewhere.filter { (drops[$0] != nil || isPost($0)) && !findings.found($0) }
    }

    /// The description of a post is gone, until it counts.
    package mutating func leaves(_ description: RelativePath, now: MonotonicTime) {
        names.leaves(description, file: nil, now: now)
    }

    /// A name is there, again or still.
    package mutating func stays(_ path: RelativePath) { names.stays(path) }

    /// Whether a name is gone and that does not count yet.
    package func isLeaving(_ path: RelativePath) -> Bool { names.isLeaving(path) }

    /// Whether a path is being hashed.
    package func isHashing(_ path: RelativePath) -> Bool { hashing[path] != nil }

    /// How many paths are being hashed, or are to be.
    package var hashCount: Int { hashing.count }

    /// How many bytes of a large file are hashed.
    package func bytesHashed(of path: RelativePath) -> UInt64? { hashedBytes[path] }
}

extension DropRecord {
    /// Whether a file in this state was dealt with: its content is known, or it was decided not to take it.
    package func isSettled(for identity: FileIdentity) -> Bool {
        self.identity == identity && disposal == nil && !wasRemoved
            && (key != nil || state == .rejected || state == .failed || state == .cancelled)
    }

    /// Whether the file is, as far as the agent knows, in the outbox under this path.
    package var hasFile: Bool { disposal == nil || disposal == .pending }

    /// Whether the record only leads from an old path to where the file was moved.
    package var isTrace: Bool { if case .movedAway = disposal { true } else { false } }

    /// Whether the outcome is told for a while after the file is gone.
    var outlivesFile: Bool {
        switch state {
        case .cancelled, .failed: true
        case .done: !hasFile
        default: false
        }
    }

    /// Whether the user cancelled the file and nobody has missed it so far: it may be found under another name.
    var mayStandElsewhere: Bool { isCancelledByUser && !flags.contains(.fileIsGone) }

    /// Whether nothing of a file that vanished need be kept any longer.
    package func isPrunable(at now: WallTime, retention: Duration) -> Bool {
        state.isFinal && (!outlivesFile || isOver(at: now, retention: retention))
    }

    /// Whether that while is over.
    func isOver(at now: WallTime, retention: Duration) -> Bool {
        (finishedAt ?? now).advanced(by: retention).milliseconds <= now.milliseconds
    }
}

extension FileError {
    /// Why a file that vanished before it was done is cancelled.
    package static var removed: FileError {
        FileError(code: "removed", message: "the file was removed before it was uploaded", retryable: false)
    }

    /// Why a file is cancelled that the user gave up.
    package static var cancelledByUser: FileError {
        FileError(code: "cancelled", message: "cancelled by the user", retryable: false)
    }
}

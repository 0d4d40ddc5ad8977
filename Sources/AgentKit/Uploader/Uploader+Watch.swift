import FileWatch
import Ledger
import LinuxSystem
import Logging
import Remotes
import SystemPackage
import UploadCore

// What the watch tells.
extension Uploader {
    /// How long a name must be gone before its removal counts.
    static let removalGrace = Duration.seconds(2)

    /// How long events of the watch may keep the uploader from everything else.
    private static let slice = Duration.milliseconds(20)

    /// Queues events of the watch; called on its thread, which waits while too many are queued.
    nonisolated func hear(_ events: [WatchEvent]) {
        if heard.add(events, merge: { WatchEvent.fold($0, into: &$1) }) { run { $0.takeSlice() } }
    }

    /// Handles some of what the watch told. Between two slices control requests, results and the end of the agent get
    /// their turn.
    private func takeSlice() {
        let end = now.monotonic + Self.slice
        while !hasStopped {
            if !moveNext() {
                guard let event = heard.next() else { return setAlarm() }
                take(event)
            }
            if now.monotonic >= end {
                setAlarm()
                return run { $0.takeSlice() }
            }
        }
    }

    /// Handles events at once.
    func take(_ events: [WatchEvent]) {
        guard !hasStopped else { return }
        for event in events {
            take(event)
            while moveNext() {}
        }
        setAlarm()
    }

    private func take(_ event: WatchEvent) {
        if takeForSources(event) { return }
        switch event {
        case .seen(let path): seen(path)
        case .ready(let path, let status): ready(path, status)
        case .odd(let path, let status): odd(path, status)
        case .unreadable(let path, let error): unreadable(path, error)
        case .gone(let path): gone(path)
        case .renamed(let old, let new, let isDirectory): renamed(old, new, isDirectory: isDirectory)
        case .scanned(let summary): scanned(summary)
        case .overflowed: parts.logger.warning("events were lost; a full scan makes up for them")
        case .watchLimit(let limit): watchLimit(limit)
        case .mountLost(let path): mountLost(path)
        case .mounted(let path, let isSame): mounted(path, isSame: isSame)
        case .rootLost(let reason): rootLost(reason)
        case .rootBack(let isSame): rootBack(isSame: isSame)
        }
    }

    private func seen(_ path: RelativePath) {
        names.stays(path)
        elsewhere.remove(path)
        if drops[path] != nil || wishes.cancelled.contains(path) { return }
        let status: FileStatus?
        do throws(Errno) {
            status = try parts.files.status(of: path)
        } catch {
            // Gone again before anybody was told of it: thousands of short-lived files cost no record and no sidecar.
            if error == .noSuchFileOrDirectory { return }
            status = nil
        }
        if let status {
            let known = record(of: path)
            if known == nil, recoverWish(of: path, status) { return }
            if let known, known.hasFile, isShown(known, as: FileIdentity(status)) { return }
            names.arrives(path, file: FileIdentity(status))
        }
        let record = newDrop(path, .settling, status.map(FileIdentity.init))
        drops[path] = record
        report(record)
    }

    private func ready(_ path: RelativePath, _ status: FileStatus) {
        names.stays(path)
        elsewhere.remove(path)
        let identity = FileIdentity(status)
        if recoverWish(of: path, status) { return }
        guard mayTake(path, identity) else { return }
        // Scans and polls tell again of a file that is being hashed for longer than they pause.
        if hashing[path]?.identity == identity { return }
        if followFile(to: path, identity) { return }
        let known = record(of: path)
        if let known, known.isSettled(for: identity), known.key != nil, known.state != .settling, hashing[path] == nil {
            return
        }
        if let objection = parts.rules.objection(toSize: status.size) {
            return settle(path, as: .rejected, identity, type: nil, objection)
        }
        // Where only attributes of a file changed that was dealt with, nothing is shown before its bytes turn out to differ.
        let isOld =
            drops[path] == nil && known?.key != nil && known?.hasFile == true
            && known.map { isShown($0, as: identity) } == true
        if !isOld, drops[path]?.key == nil {
            var record = drops[path] ?? newDrop(path, .hashing, identity)
            record.state = .hashing
            record.identity = identity
            drops[path] = record
            report(record)
            names.arrives(path, file: identity)
        }
        lastHash += 1
        let hash = lastHash
        hashing[path] = (hash, identity, isFound: !hasScanned, begun: now)
        // Links to one file are read once.
        if sharedHashes.join(identity, path, job: hash) { beginHash(path, hash, identity) }
    }

    private func beginHash(_ path: RelativePath, _ hash: UInt64, _ identity: FileIdentity) {
        parts.hashPool.add(
            HashPool.Job(
                path: path, identity: identity, sniffed: earlyLook,
                hashed: { [weak self] bytes in self?.run { $0.hashed(path, hash, bytes: bytes) } },
                done: { [weak self] result in
                    self?.run { uploader in
                        if case .content(let identity, _, _, _) = result {
                            uploader.counters.bytesHashed += identity.size
                        }
                        uploader.hashed(path, hash, result)
                        uploader.share(result, of: identity)
                    }
                }))
    }

    /// A large file is being hashed: so many bytes of it are.
    private func hashed(_ path: RelativePath, _ hash: UInt64, bytes: UInt64) {
        guard !hasStopped, hashing[path]?.job == hash else { return }
        hashedBytes[path] = bytes
        if let record = drops[path], record.state == .hashing { report(record) }
    }

    /// Gives the other names of a file what its hash told.
    private func share(_ result: HashResult, of identity: FileIdentity) {
        var others = sharedHashes.end(identity).filter { hashing[$0.path]?.job == $0.job }
        switch result {
        case .content(let read, _, _, _), .rejected(let read, _, _):
            for other in others {
                let isSame = (try? parts.files.status(of: other.path)).map(FileIdentity.init) == read
                hashed(other.path, other.job, isSame ? result : .changed)
            }
        case .changed: for other in others { hashed(other.path, other.job, .changed) }
        // About a name, not about the file: the next one is read.
        case .missing, .unreadable:
            guard !others.isEmpty, !hasStopped else { return }
            let next = others.removeFirst()
            sharedHashes.begin(identity, others)
            beginHash(next.path, next.job, identity)
        }
    }

    /// Hashes files again whose times tell of every change by now.
    func lookAtRacyFiles() {
        for path in racyFiles.takeDue(now: now.monotonic) {
            if record(of: path)?.identity?.isUntrusted == true { reconsider(path) } else { racyFiles.forget(path) }
        }
    }

    /// Whether what is known of a file is shown until its bytes turn out to differ. Of a file that waits for its owner also
    /// where somebody else gave it another time.
    private func isShown(_ known: DropRecord, as identity: FileIdentity) -> Bool {
        guard let old = known.identity, !known.wasRemoved else { return false }
        return old.isSameFile(as: identity) || (ownership.isParked(known.account) && old.isSameInode(as: identity))
    }

    /// Whether a file is to be looked at: not while it is leaving the outbox, and not after the user cancelled it.
    private func mayTake(_ path: RelativePath, _ identity: FileIdentity) -> Bool {
        if case .held = retiring[path] { return false }
        guard drops[path] == nil, var record = record(of: path) else { return true }
        if case .stuck = retiring[path] {
            if record.identity == identity { return false }
            retiring[path] = nil
        }
        guard record.state == .cancelled, !record.wasRemoved else { return true }
        // Cancelled while it was being written: what is there once it is at rest is what was meant.
        let isEarly = wishes.cancelled.remove(path) != nil && record.isAboutInode(of: identity)
        guard isEarly || record.isAbout(identity) else { return true }
        if record.identity != identity || !record.flags.isEmpty {
            record.identity = identity
            record.flags = []
            process([], writes: [keep(record)])
        }
        return false
    }

    private func hashed(_ path: RelativePath, _ hash: UInt64, _ result: HashResult) {
        guard !hasStopped, let job = hashing[path], job.job == hash else { return }
        hashing[path] = nil
        hashedBytes[path] = nil
        defer { sendFoundPortraits() }
        names.forgetArrival(path)
        if case .content = result {} else { earlyFacts[path] = nil }
        switch result {
        case .content(let identity, let type, let content, let digests):
            let trusted = portrait(for: path) == nil ? racyFiles.judge(path, identity, job.begun) : identity
            accept(path, trusted, type, content, digests, job.isFound ? .found : .arrived(hash))
        case .rejected(let identity, let type, let error): settle(path, as: .rejected, identity, type: type, error)
        case .unreadable(let error): settle(path, as: .failed, record(of: path)?.identity, type: nil, error)
        case .changed:
            if drops[path]?.key == nil { drops[path]?.state = .settling }
            if let record = drops[path] { report(record) }
            reconsider(path)
        // The watch tells whether it is gone, or the file system it was on.
        case .missing: reconsider(path)
        }
    }

    /// Takes a file whose content is known now.
    private func accept(
        _ path: RelativePath, _ identity: FileIdentity, _ type: MediaType, _ content: DropContent, _ digests: [UInt64],
        _ order: DropOrder
    ) {
        let old = record(of: path)
        if old?.key == nil, wasRenamed(to: path, identity, content.key) { return }
        if followContent(to: path, identity, content.key) || staysCancelled(path, identity, type, content) { return }
        noteDisplaced(at: path, by: identity)
        if let old, old.key == content.key, ownership.isParked(old.account),
            !old.state.isFinal || isShown(old, as: identity)
        {
            return keepParked(old, identity, type)
        }
        var record = drops[path] ?? newDrop(path, .queued, identity)
        var events: [MachineEvent] = []
        if let oldKey = old?.key, oldKey != content.key {
            if old?.state.isFinal == false { events.append(.leave(path, oldKey)) }
            let acceptedAt = record.acceptedAt
            record = newDrop(path, record.state, identity)
            record.acceptedAt = acceptedAt
        } else if let old, old.state == .done, old.hasFile {
            record = old
        }
        let isPaused = record.state == .paused || wishes.paused.contains(path)
        record.identity = identity
        record.key = content.key
        record.type = type
        record.disposal = nil
        takeFacts(of: content.key, into: &record)
        defer { examine(record) }
        if let oldKey = old?.key, oldKey != content.key { releaseThumbnail(of: oldKey) }
        if ownership.isParked(record.account) { return park(record) }
        if machine.signedOut == nil { record.account = ownership.owner(record.account) ?? ownership.present }
        if let service = portrait(for: path) { return accept(portrait: record, instead: old, to: service, order) }
        lookForSource(above: path)
        let known = confirmation(of: content.key)
        if let known, parts.afterUpload == .keep || known.seal != content.seal {
            confirmed(&record, known, content)
            forgetIntake(of: path)
            return process(events, writes: [keep(record)], reporting: path)
        }
        record.state = isPaused ? .paused : .queued
        record.error = nil
        record.remote = nil
        record.finishedAt = nil
        var writes = [keep(record)]
        if machine.record(of: content.key) == nil {
            writes.append(.digests(content.key, digests))
        } else if machine.view(of: content.key, from: path) == nil {
            record.deduplicated = true
            writes = [keep(record)]
        }
        let isHeld = isPaused || isHeldBySource(record)
        if let known, !known.isByMD5Alone {
            events.append(.verify(path, content, known.remote, paused: isHeld))
        } else {
            events.append(.join(path, content, paused: isHeld))
        }
        if wishes.first.contains(path) { events.append(.first(content.key)) }
        forgetIntake(of: path)
        process(events, writes: writes)
    }

    /// A path just seen, or with another content.
    private func newDrop(_ path: RelativePath, _ state: FileState, _ identity: FileIdentity?) -> DropRecord {
        var record = DropRecord(path: path, state: state, acceptedAt: now.wall)
        record.account = newOwner(changed: identity?.changed)
        // What could not be read belongs to whom it did once it can be.
        if let known = self.record(of: path), known.key == nil, let old = known.identity,
            identity?.isSameInode(as: old) == true
        {
            record.account = known.account
        }
        return record
    }

    func confirmation(of key: ContentKey) -> Confirmation? {
        if let known = unsaved.confirmation(of: key) { return known }
        do {
            return try parts.ledger.confirmation(of: key, scope: parts.remote.scope)
        } catch {
            ledgerFailed(error)
            return nil
        }
    }

    /// A content that the server has already: nothing is sent.
    private func confirmed(_ record: inout DropRecord, _ known: Confirmation, _ content: DropContent) {
        if record.state != .done {
            record.deduplicated = true
            record.finishedAt = now.wall
        }
        if known.seal == content.seal {
            record.state = .done
            record.remote = known.remote
            record.error = nil
        } else {
            let message = "\(record.path) has the same MD5 as another file but other content; it can't be told apart"
            record.state = .failed
            record.error = FileError(code: "key_collision", message: message, retryable: false)
        }
    }

    /// Gives a path a final state without a content.
    private func settle(
        _ path: RelativePath, as state: FileState, _ identity: FileIdentity?, type: MediaType?, _ error: FileError
    ) {
        let old = record(of: path)
        if let old, old.state == state, old.error == error, old.identity == identity { return }
        noteDisplaced(at: path, by: identity)
        var record = drops[path] ?? newDrop(path, state, identity)
        if let old, let known = old.identity, identity?.isSameInode(as: known) == true { record.account = old.account }
        let events = old?.key.map { [MachineEvent.leave(path, $0)] } ?? []
        if let key = old?.key {
            portraits[path] = nil
            portrait(for: path)?.removed(path, key)
        }
        let account = record.account
        record = DropRecord(path: path, state: state, acceptedAt: record.acceptedAt)
        record.account = account
        record.identity = identity
        record.type = type
        record.error = error
        record.finishedAt = now.wall
        forgetIntake(of: path)
        process(events, writes: [keep(record)], reporting: path)
        releaseThumbnail(of: old?.key)
    }

    private func odd(_ path: RelativePath, _ status: FileStatus) {
        names.stays(path)
        elsewhere.remove(path)
        settle(path, as: .rejected, FileIdentity(status), type: nil, IntakeRules.objection(toKind: status.kind))
    }

    private func unreadable(_ path: RelativePath, _ error: Errno) {
        let status = try? parts.files.status(of: path)
        if status?.kind == .directory {
            parts.logger.warning(
                "a directory can't be read; its files are not seen",
                metadata: ["path": "\(path)", "reason": "\(error)", "remedy": "check its permissions"])
            return
        }
        let message = "\(path) can't be read: \(error); check its permissions"
        let failure = FileError(code: "unreadable", message: message, retryable: false)
        settle(path, as: .failed, status.map(FileIdentity.init), type: nil, failure)
    }

    // MARK: Limits and losses

    private func watchLimit(_ limit: WatchLimit) {
        problems["watch"] = "\(limit.reason); \(limit.remedy)"
        parts.logger.warning(
            "a limit on watching is reached; what can't be watched is polled, what was lost is scanned for",
            metadata: ["directory": "\(limit.directory)", "reason": "\(limit.reason)", "remedy": "\(limit.remedy)"])
    }

    private func mountLost(_ path: RelativePath) {
        lostMounts.insert(path)
        names.forgetDepartures(within: path)
        parts.logger.warning(
            "a file system below the outbox is gone; its files are waited for, not cancelled",
            metadata: ["path": "\(path)", "remedy": "mount it again"])
    }

    private func mounted(_ path: RelativePath, isSame: Bool) {
        lostMounts.remove(path)
        if !isSame { elsewhere.formUnion((drops.keys + sourceDescriptions).filter { $0.isWithin(path) }) }
        parts.logger.notice(
            "a file system is mounted below the outbox", metadata: ["path": "\(path)", "same": "\(isSame)"])
        process([.networkChanged])
    }

    private func rootLost(_ reason: String) {
        outboxIsLost = true
        names.forgetDepartures(within: .root)
        problems["outbox"] = "the outbox is gone: \(reason)"
        parts.logger.error(
            "the outbox is gone; nothing is cancelled, it goes on when it is back",
            metadata: ["outbox": "\(parts.files.root)", "reason": "\(reason)"])
    }

    private func rootBack(isSame: Bool) {
        outboxIsLost = false
        if !isSame {
            lostMounts = []
            // What was to be written beside the old one's files has no place here.
            parts.sidecars.forgetPending()
            try? parts.files.outbox.repin()
            outboxWasExchanged()
        }
        problems["outbox"] = nil
        recoverHeldFiles()
        parts.logger.notice("the outbox is back", metadata: ["same": "\(isSame)"])
        process([.networkChanged])
    }
}

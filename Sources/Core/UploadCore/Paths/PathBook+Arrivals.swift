// Handles files that appear, settle and are hashed.
extension PathBook {
    /// Records that the name exists in this outbox.
    mutating func isThere(_ path: RelativePath) {
        names.stays(path)
        elsewhere.remove(path)
    }

    mutating func seen(_ path: RelativePath) {
        isThere(path)
        if drops[path] != nil || wishes.cancelled.contains(path) { return }
        let look = facts.look(at: path)
        // The file vanished before any report. Thousands of short-lived files thus cost no record and no sidecar.
        if look == .nothing { return }
        // `ready` follows and asks again.
        guard facts.canAnswer(about: path, nil) else { return }
        if let identity = look.identity {
            let known = record(of: path)
            if known == nil, recoverWish(of: path, identity) { return }
            if let known, known.hasFile, isShown(known, as: identity) { return }
            names.arrives(path, file: identity)
        }
        drops[path] = newDrop(path, .settling, look.identity)
        add(.report(path))
    }

    mutating func ready(_ path: RelativePath, _ identity: FileIdentity, _ objection: FileError?) {
        isThere(path)
        // Without its record the file looks like a new one, even if it is uploaded or the user cancelled it.
        guard drops[path] != nil || facts.canAnswer(about: path, nil) else { return add(.settle(path)) }
        if recoverWish(of: path, identity) { return }
        guard mayTake(path, identity) else { return }
        // Scans and polls report a file again if its hash takes longer than their interval.
        if hashing[path]?.identity == identity { return }
        if followFile(to: path, identity) { return }
        let known = record(of: path)
        if let known, known.isJudged(for: identity), known.key != nil, known.state != .settling, hashing[path] == nil {
            return
        }
        if let objection { return finish(path, as: .rejected, identity, type: nil, objection) }
        // If only attributes of an already handled file changed, report nothing until its bytes turn out to differ.
        let isOld =
            drops[path] == nil && known?.key != nil && known?.hasFile == true
            && known.map { isShown($0, as: identity) } == true
        if !isOld, drops[path]?.key == nil {
            var record = drops[path] ?? newDrop(path, .hashing, identity)
            record.state = .hashing
            record.identity = identity
            drops[path] = record
            add(.report(path))
            names.arrives(path, file: identity)
        }
        lastJob += 1
        hashing[path] = HashJob(job: lastJob, identity: identity, isFound: !hasScanned, begun: now)
        // Hard links to one file are read once.
        if sharedHashes.join(identity, path, job: lastJob) { add(.hash(path, identity, job: lastJob)) }
    }

    /// Whether the known state stays visible until the bytes turn out to differ. For a file that waits for its owner,
    /// this holds even if another account changed its times. The inode alone says little: some file systems in user space
    /// hand out new ones all the time.
    private func isShown(_ known: DropRecord, as identity: FileIdentity) -> Bool {
        guard let old = known.identity, !known.wasRemoved else { return false }
        if old.size == identity.size, old.modified == identity.modified { return true }
        return (ownership.isParked(known.account) && old.isSameInode(as: identity))
    }

    /// Whether to hash the file. Returns false if the file is leaving the outbox, has left it, or the user cancelled it.
    private mutating func mayTake(_ path: RelativePath, _ identity: FileIdentity) -> Bool {
        if retirement.isHeld(path) { return false }
        guard drops[path] == nil, var record = record(of: path) else { return true }
        // The watch may have found the file before the agent moved or deleted it.
        if !record.hasFile, facts.look(at: path) == .nothing { return false }
        if retirement.isStuck(path) {
            if record.identity == identity { return false }
            retirement.forgetStuck(path)
        }
        guard record.state == .cancelled, !record.wasRemoved else { return true }
        // The user cancelled the path while it was being written. The cancellation applies to the settled file.
        let isEarly = wishes.cancelled.remove(path) != nil && record.isAboutInode(of: identity)
        guard isEarly || record.isAbout(identity) else { return true }
        if record.identity != identity || !record.flags.isEmpty {
            record.identity = identity
            record.flags = []
            store(record)
        }
        return false
    }

    // MARK: Hashing

    mutating func hashing(_ path: RelativePath, _ job: UInt64, _ bytes: UInt64) {
        guard hashing[path]?.job == job else { return }
        hashedBytes[path] = bytes
        if drops[path]?.state == .hashing { add(.report(path)) }
    }

    /// Shows a file as waiting while its file system does not answer. The hash job goes on.
    mutating func stalled(_ path: RelativePath, _ job: UInt64, _ isStalled: Bool) {
        guard hashing[path]?.job == job, drops[path]?.state == (isStalled ? .hashing : .waiting) else { return }
        let message = "\(path): its file system does not answer; the agent goes on as soon as it does"
        drops[path]?.state = isStalled ? .waiting : .hashing
        drops[path]?.error = isStalled ? FileError(code: "storage_stalled", message: message, retryable: true) : nil
        add(.report(path))
    }

    mutating func processing(_ path: RelativePath, _ job: UInt64, _ progress: ProcessingProgress) {
        guard hashing[path]?.job == job else { return }
        hashedBytes[path] = nil
        processed[path] = progress
        guard let state = drops[path]?.state, state == .hashing || state == .processing else { return }
        drops[path]?.state = .processing
        add(.report(path))
    }

    /// Whether the path book expects the result of a hash job.
    package func expects(_ path: RelativePath, job: UInt64) -> Bool { hashing[path]?.job == job }

    mutating func hashed(_ path: RelativePath, _ job: UInt64, _ finding: HashFinding) {
        guard let hash = hashing[path], hash.job == job else { return }
        stalled(path, job, false)
        hashing[path] = nil
        hashedBytes[path] = nil
        processed[path] = nil
        names.forgetArrival(path)
        if case .content = finding {} else { earlyFacts[path] = nil }
        if case .unreadable = finding {} else { unread.forget(path) }
        switch finding {
        case .content(let identity, let type, let content, let digests):
            // Another name of the file may have another recipe: no product is a profile picture.
            let needsProduct = !isPortrait(path) && !rules.recipes.recipe(for: type).isEmpty
            if needsProduct != (content.product != nil) { return settleAgain(path) }
            // Without its confirmation the content would be uploaded a second time.
            guard facts.canAnswer(about: path, content.key) else { return settleAgain(path) }
            let trusted = isPortrait(path) ? identity : racyFiles.judge(path, identity, hash.begun)
            accept(path, trusted, type, content, digests, hash)
        case .rejected(let identity, let type, let error): finish(path, as: .rejected, identity, type: type, error)
        case .failed(let identity, let type, let product, let error):
            finish(path, as: .failed, identity, type: type, error, product: product)
        case .unreadable(let error) where error.retryable: waitToRead(path, error)
        case .unreadable(let error): finish(path, as: .failed, record(of: path)?.identity, type: nil, error)
        case .changed: settleAgain(path)
        // The watch finds out whether the file or its file system is gone.
        case .missing: add(.settle(path))
        }
    }

    // MARK: Files that can't be read

    mutating func unreadable(_ path: RelativePath, _ identity: FileIdentity?, _ error: FileError) {
        guard error.retryable else { return finish(path, as: .failed, identity, type: nil, error) }
        // A known file keeps its state. Each scan looks at it again.
        guard drops[path] != nil || facts.canAnswer(about: path, nil) && record(of: path) == nil else { return }
        isThere(path)
        if drops[path] == nil { drops[path] = newDrop(path, .settling, identity) }
        waitToRead(path, error)
    }

    /// Has a file wait until its disk or file system works again.
    private mutating func waitToRead(_ path: RelativePath, _ error: FileError) {
        unread.fail(path, error, now: now)
        if drops[path]?.key == nil { drops[path]?.state = .settling }
        if drops[path] != nil { add(.report(path)) }
    }

    /// Has the watch look at files again that could not be read.
    mutating func tryToRead(_ paths: [RelativePath]) {
        for path in paths { add(.settle(path)) }
    }

    /// How long a file waits until it is read again; nil if it does not wait.
    package func waitToRead(_ path: RelativePath) -> (error: FileError, nextAttemptAt: WallTime)? {
        unread.wait(of: path).map { ($0.error, $0.nextAttemptAt) }
    }

    /// Lets a file settle and hashes it again.
    private mutating func settleAgain(_ path: RelativePath) {
        if drops[path]?.key == nil { drops[path]?.state = .settling }
        if drops[path] != nil { add(.report(path)) }
        add(.settle(path))
    }

    /// Gives the result of a hash to the other names of the file.
    mutating func share(_ finding: HashFinding, of identity: FileIdentity) {
        var others = sharedHashes.end(identity).filter { hashing[$0.path]?.job == $0.job }
        switch finding {
        case .content(let read, _, _, _), .rejected(let read, _, _), .failed(let read, _, _, _):
            for other in others {
                let isSame = facts.look(at: other.path).identity == read
                hashed(other.path, other.job, isSame ? finding : .changed)
            }
        case .changed: for other in others { hashed(other.path, other.job, .changed) }
        // The result concerns the name, not the file: read the file under its next name.
        case .missing, .unreadable:
            guard !others.isEmpty else { return }
            let next = others.removeFirst()
            sharedHashes.begin(identity, others)
            add(.hash(next.path, identity, job: next.job))
        }
    }

    mutating func measured(_ path: RelativePath, _ identity: FileIdentity, _ facts: MediaFacts) {
        if hashing[path]?.identity == identity {
            earlyFacts[path] = (identity, facts)
        } else if let record = record(of: path), let key = record.key, record.identity == identity {
            add(.learned(key, facts, isExamined: record.isExamined))
        }
    }

    /// Accepts a file whose content is known now.
    private mutating func accept(
        _ path: RelativePath, _ identity: FileIdentity, _ type: MediaType, _ content: DropContent, _ digests: [UInt64],
        _ hash: HashJob
    ) {
        let old = record(of: path)
        if old?.key == nil, followRename(to: path, identity, content.key) { return }
        if followContent(to: path, identity, content.key) || staysCancelled(path, identity, type, content) { return }
        if let old, old.key == content.key, ownership.isParked(old.account),
            !old.state.isFinal || isShown(old, as: identity)
        {
            return keepParked(old, identity, type, content.product)
        }
        var record = acceptedRecord(path, identity, type, content, instead: old)
        takeFacts(of: content.key, into: &record)
        defer { add(.examine(path)) }
        let formerKey = old?.key.flatMap { $0 == content.key ? nil : $0 }
        if let formerKey {
            if old?.state.isFinal == false { add(.upload(.leave(path, formerKey))) }
            add(.releaseContent(formerKey))
        }
        if ownership.isParked(record.account) { return park(record) }
        if !facts.isSignedOut { record.account = ownership.owner(record.account) ?? ownership.present }
        if isPortrait(path) { return accept(portrait: record, instead: old, hash) }
        enqueue(record, content, digests)
    }

    /// Returns the record of a file whose content is known now, based on its previous record.
    private func acceptedRecord(
        _ path: RelativePath, _ identity: FileIdentity, _ type: MediaType, _ content: DropContent,
        instead old: DropRecord?
    ) -> DropRecord {
        var record = drops[path] ?? newDrop(path, .queued, identity)
        if let oldKey = old?.key, oldKey != content.key {
            let acceptedAt = record.acceptedAt
            record = newDrop(path, record.state, identity)
            record.acceptedAt = acceptedAt
        } else if let old, old.state == .done, old.hasFile {
            record = old
        }
        record.identity = identity
        record.key = content.key
        record.product = content.product
        record.type = type
        record.disposal = nil
        return record
    }

    /// Passes a file to the upload machine, unless the server is known to have the content.
    private mutating func enqueue(_ accepted: DropRecord, _ content: DropContent, _ digests: [UInt64]) {
        var record = accepted
        let path = record.path
        let isPaused = isPaused(record)
        let isFirst = wishes.first.contains(path)
        forgetIntake(of: path)
        let known = facts.confirmation(of: content.key)
        if let known, rules.keepsFiles || known.seal != content.seal {
            confirmed(&record, known, content)
            // The file waited for its owner, for whom the server already confirmed the content.
            if facts.isWaiting(path, for: content.key) { add(.upload(.leave(path, content.key))) }
            store(record)
            return add(.reportWhenDurable(path))
        }
        record.state = isPaused ? .paused : .queued
        record.error = nil
        record.remote = nil
        record.finishedAt = nil
        let hasUpload = facts.hasUpload(of: content.key)
        // An upload may have begun without the digests of its product, if the server seemed to have the product.
        if !content.seal.isOfOneBlock, !hasUpload || content.product?.made != nil && !digests.isEmpty {
            add(write: .digests(content.key, digests))
        }
        if hasUpload, !facts.isWaiting(path, for: content.key) {
            record.deduplicated = true
        }
        if known != nil { record.flags.insert(.verifying) }
        store(record)
        if let known, !known.isByMD5Alone {
            add(.upload(.verify(path, content, known.remote, paused: isPaused)))
        } else {
            add(.upload(.join(path, content, paused: isPaused)))
        }
        if isFirst { add(.upload(.first(content.key))) }
    }

    /// Copies media facts of a newly accepted content: measured during the hash, or known from another path.
    private mutating func takeFacts(of key: ContentKey, into record: inout DropRecord) {
        let early = earlyFacts.removeValue(forKey: record.path)
        guard !record.isExamined, record.type?.kind != .other else { return }
        if let early, let identity = record.identity, early.identity.isSameFile(as: identity) {
            record.facts = early.facts
        }
        let waiting = facts.waiters(of: key).first.flatMap { self.record(of: $0) }
        guard let other = waiting ?? facts.anyStoredRecord(of: key), let known = other.facts else { return }
        record.facts = known
        record.isExamined = other.isExamined
    }

    /// Fills in the record of a content that the server already has. Nothing is sent.
    private func confirmed(_ record: inout DropRecord, _ known: Confirmation, _ content: DropContent) {
        if record.state != .done {
            record.deduplicated = true
            record.finishedAt = now.wall
        }
        record.flags.remove(.verifying)
        if known.seal == content.seal {
            record.state = .done
            record.remote = known.remote
            record.error = nil
        } else {
            let message =
                "\(record.path) has the same MD5 as another file but other content; only one of them can be uploaded"
            record.state = .failed
            record.error = FileError(code: "key_collision", message: message, retryable: false)
        }
    }

    /// Returns a new record for a path just seen, or with changed content.
    func newDrop(_ path: RelativePath, _ state: FileState, _ identity: FileIdentity?) -> DropRecord {
        var record = DropRecord(path: path, state: state, acceptedAt: now.wall)
        record.account = newOwner(changed: identity?.changed)
        // A formerly unreadable file keeps its owner.
        if let known = self.record(of: path), known.key == nil, let old = known.identity,
            identity?.isSameInode(as: old) == true
        {
            record.account = known.account
        }
        return record
    }

    /// Gives a path without content a final state.
    mutating func finish(
        _ path: RelativePath, as state: FileState, _ identity: FileIdentity?, type: MediaType?, _ error: FileError,
        product: Product? = nil
    ) {
        let old = record(of: path)
        if let old, old.state == state, old.error == error, old.identity == identity { return }
        noteDisplaced(at: path, by: identity)
        var record = drops[path] ?? newDrop(path, state, identity)
        if let old, let known = old.identity, identity?.isSameInode(as: known) == true { record.account = old.account }
        if let key = old?.key {
            add(.upload(.leave(path, key)))
            leavePortrait(path, key)
        }
        let account = record.account
        record = DropRecord(path: path, state: state, acceptedAt: record.acceptedAt)
        record.account = account
        record.identity = identity
        record.type = type
        record.product = product
        record.error = error
        record.finishedAt = now.wall
        forgetIntake(of: path)
        store(record)
        add(.reportWhenDurable(path))
        if let key = old?.key { add(.releaseContent(key)) }
    }

    /// Forgets everything about the intake of a path.
    mutating func forgetIntake(of path: RelativePath) {
        hashing[path] = nil
        hashedBytes[path] = nil
        processed[path] = nil
        earlyFacts[path] = nil
        wishes.forget(path)
        unread.forget(path)
        names.forgetArrival(path)
    }

    /// Re-queues a file for settling and hashing because it changed after it was hashed.
    mutating func lookAgain(at path: RelativePath) {
        guard var record = drops[path] else { return }
        if record.state == .paused { wishes.paused.insert(path) }
        record.state = .settling
        drops[path] = record
        add(.report(path))
        add(.settle(path))
    }

    // MARK: Accounts

    /// Returns the owner of a file that is not known yet.
    ///
    /// - Parameter changed: ctime of the file, nanoseconds since 1970.
    func newOwner(changed: Int64?) -> String? {
        if facts.isSignedOut { return Ownership.nobody }
        return ownership.owner(changed: changed, isFound: !hasScanned)
    }

    /// Parks a file whose owner is not signed in. Its content is known now.
    private mutating func park(_ drop: DropRecord) {
        var record = drop
        record.state = isPaused(drop) ? .paused : .queued
        if let account = ownership.absentOwner(record.account) { add(.park(record, account: account)) }
        forgetIntake(of: record.path)
        store(record)
        add(.reportWhenDurable(record.path))
    }

    /// Keeps the record of another account's file after a new hash with the same content.
    private mutating func keepParked(
        _ old: DropRecord, _ identity: FileIdentity, _ type: MediaType, _ product: Product?
    ) {
        var record = old
        record.identity = identity
        record.type = type
        record.product = product
        forgetIntake(of: record.path)
        store(record)
        add(.reportWhenDurable(record.path))
    }

    // MARK: Recovery of a lost ledger

    /// Restores a cancellation or pause from the sidecar if the ledger has no record of the path.
    ///
    /// - Returns: whether the file needs no further handling.
    private mutating func recoverWish(of path: RelativePath, _ file: FileIdentity) -> Bool {
        guard isRecovering, drops[path] == nil, record(of: path) == nil, let wish = facts.sidecarWish(of: path) else {
            return false
        }
        switch wish {
        case .cancelled(let size, let written):
            // Written after the cancellation, so another file.
            guard size.map({ $0 == file.size }) ?? true, file.modified <= written else { return false }
            var record = DropRecord(path: path, state: .cancelled, acceptedAt: now.wall)
            record.account = newOwner(changed: file.changed)
            record.identity = file
            record.finishedAt = now.wall
            record.error = .cancelledByUser
            store(record)
            add(.reportWhenDurable(path))
            return true
        case .paused:
            wishes.paused.insert(path)
            var record = DropRecord(path: path, state: .settling, acceptedAt: now.wall)
            record.account = newOwner(changed: file.changed)
            rememberWishes(for: record)
            return false
        }
    }
}

/// Hard links that wait for the hash of one file. The file is read under its first name; the other names share the
/// result.
///
/// Names share a hash only if their identities are equal, including ctime. A change between two looks alters at least
/// ctime, so it leads to a separate hash.
struct SharedHashes: Sendable {
    private var waiting: [FileIdentity: [(path: RelativePath, job: UInt64)]] = [:]

    /// Adds a name to be hashed.
    ///
    /// - Returns: whether to read the file; false if another name of the file is being read.
    mutating func join(_ file: FileIdentity, _ path: RelativePath, job: UInt64) -> Bool {
        guard waiting[file] != nil else {
            waiting[file] = []
            return true
        }
        waiting[file]?.append((path, job))
        return false
    }

    /// Records that the file is being read again, on behalf of these names.
    mutating func begin(_ file: FileIdentity, _ others: [(path: RelativePath, job: UInt64)]) {
        waiting[file] = others
    }

    /// Removes and returns the names that waited for a file.
    mutating func end(_ file: FileIdentity) -> [(path: RelativePath, job: UInt64)] {
        waiting.removeValue(forKey: file) ?? []
    }
}

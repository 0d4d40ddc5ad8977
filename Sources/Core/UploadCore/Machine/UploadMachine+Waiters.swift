// Handles paths that join, leave, pause and move to the head of the queue.
extension UploadMachine {
    mutating func join(_ path: RelativePath, _ content: DropContent, paused: Bool, now: Now) {
        let key = content.key
        if let upload = uploads[key] {
            guard upload.record.seal == content.seal else {
                let message =
                    "\(path) has the same MD5 \(key) as another file but other content; only one of them can be uploaded"
                let error = FileError(code: "key_collision", message: message, retryable: false)
                actions.append(.ended(path, key, .failed(error), attempts: 0))
                return
            }
            if upload.record.sha256 == nil, let sha256 = content.sha256 {
                uploads[key]?.record.sha256 = sha256
                store(key)
            }
            let wasHeld = upload.isHeld
            uploads[key]?.waiters[path] = .init(
                paused: paused, joinedLater: upload.waiters[path]?.joinedLater ?? true)
            settleHold(key, wasHeld: wasHeld, now: now)
            fileIsFound(key, now: now)
        } else {
            var upload = makeUpload(content, now: now)
            upload.waiters[path] = .init(paused: paused, joinedLater: false)
            begin(upload, now: now)
        }
        actions.append(.changed(key))
    }

    /// Asks the server whether it still has a content, before the file is disposed of because of an old confirmation.
    ///
    /// For the protocol this is an upload with all fragments acknowledged, so the usual handling applies if the server
    /// knows nothing of it. The ledger stores the upload only in that case. If the agent restarts before, the new run
    /// hashes the file and asks again (`DropRecord.Flags.verifying`).
    mutating func verify(
        _ path: RelativePath, _ content: DropContent, _ remote: RemoteObject, paused: Bool, now: Now
    ) {
        guard uploads[content.key] == nil, let id = remote.id else {
            return join(path, content, paused: paused, now: now)
        }
        var upload = makeUpload(content, now: now)
        upload.record.handle = RemoteHandle(id: id)
        upload.acknowledged = FragmentSet(prefix: upload.record.plan.count)
        upload.isVerification = true
        upload.waiters[path] = .init(paused: paused, joinedLater: true)
        begin(upload, now: now)
        actions.append(.changed(content.key))
    }

    private mutating func makeUpload(_ content: DropContent, now: Now) -> Upload {
        lastOrder += 1
        let plan = traits.plan(for: content.seal.size)
        var record = UploadRecord(key: content.key, seal: content.seal, plan: plan, scope: scope, order: lastOrder)
        record.sha256 = content.sha256
        return Upload(record: record, phase: .unregistered, waiters: [:], lastProgress: now.monotonic)
    }

    private mutating func begin(_ upload: Upload, now: Now) {
        insert(upload)
        store(upload.key)
        rest(upload.key, now: now)
        watchTimeout(upload.key)
    }

    /// Adds an upload in the phase `unregistered`.
    mutating func insert(_ upload: Upload) {
        uploads[upload.key] = upload
        count(upload, 1)
        forgotten.remove(upload.key)
    }

    mutating func leave(_ path: RelativePath, _ key: ContentKey, now: Now) {
        guard let upload = uploads[key], upload.waiters[path] != nil else { return }
        uploads[key]?.waiters[path] = nil
        if upload.waiters.count == 1 {
            drop(key, now: now)
        } else {
            uploads[key]?.findFirst()
            settleHold(key, wasHeld: upload.isHeld, now: now)
            actions.append(.changed(key))
        }
    }

    mutating func rename(_ path: RelativePath, to new: RelativePath, _ key: ContentKey, now: Now) {
        guard let waiter = uploads[key]?.waiters.removeValue(forKey: path) else { return }
        uploads[key]?.waiters[new] = waiter
        fileIsFound(key, now: now)
        actions.append(.changed(key))
    }

    mutating func setPaused(_ path: RelativePath, _ key: ContentKey, _ paused: Bool, now: Now) {
        guard let upload = uploads[key], upload.waiters[path] != nil else { return }
        uploads[key]?.waiters[path]?.paused = paused
        settleHold(key, wasHeld: upload.isHeld, now: now)
        actions.append(.changed(key))
    }

    mutating func setAllPaused(_ paused: Bool, now: Now) {
        guard allPaused != paused else { return }
        allPaused = paused
        if paused {
            for key in active.keys + lingering.keys { giveUpRequests(of: key, now: now) }
            for key in active.keys { rest(key, now: now) }
        } else {
            for key in uploads.keys { uploads[key]?.lastProgress = now.monotonic }
        }
        actions.append(.allChanged)
    }

    /// Continues an upload whose file was missing under its old name and was found under a new name.
    private mutating func fileIsFound(_ key: ContentKey, now: Now) {
        guard case .waiting = uploads[key]?.phase, uploads[key]?.error?.code == Self.fileMissing else { return }
        uploads[key]?.forgetFailures()
        rest(key, now: now)
    }

    /// The error code of an upload whose file is missing at the moment.
    static let fileMissing = "file_missing"

    mutating func moveFirst(_ key: ContentKey) {
        guard var upload = uploads[key] else { return }
        firstOrder -= 1
        upload.record.order = firstOrder
        uploads[key] = upload
        store(key)
        enqueue(key)
    }

    mutating func retry(_ key: ContentKey, now: Now) {
        guard let upload = uploads[key] else { return }
        gates.hurry(now: now)
        guard case .waiting = upload.phase else { return }
        uploads[key]?.forgetFailures()
        rest(key, now: now)
    }

    /// Holds an upload whose last unpaused waiter paused, and continues it once a waiter resumes.
    private mutating func settleHold(_ key: ContentKey, wasHeld: Bool, now: Now) {
        guard let upload = uploads[key], upload.isHeld != wasHeld else { return }
        if upload.isHeld { giveUpRequests(of: key, now: now) }
        uploads[key]?.lastProgress = now.monotonic
        rest(key, now: now)
        if !upload.isHeld { watchTimeout(key) }
    }

    /// Ends an upload without waiters and deletes it on the server.
    mutating func drop(_ key: ContentKey, now: Now) {
        giveUpRequests(of: key, now: now)
        detach(key, now: now)
        // Contents that the server confirmed earlier stay there, whatever happens to the file.
        if let upload = uploads[key], let handle = upload.record.handle, !upload.isVerification { remove(handle) }
        forget(key)
    }

    /// Stores the upload's present record in the ledger.
    mutating func store(_ key: ContentKey) {
        guard let upload = uploads[key], !upload.isVerification else { return }
        actions.append(.write(.upload(upload.record)))
    }

    /// Removes an upload from all queues and from the ledger.
    mutating func forget(_ key: ContentKey) {
        leaveSlot(key)
        count(uploads[key], -1)
        uploads[key] = nil
        forgotten.insert(key)
        refusals.remove(key)
        wakeGroup(of: key)
        actions.append(.write(.forgetUpload(key)))
    }
}

// Handles signing out and signing in.
extension UploadMachine {
    mutating func setSignedOut(_ error: FileError?, now: Now) {
        guard signedOut != error else { return }
        let wasSignedOut = signedOut != nil
        signedOut = error
        if error == nil {
            for key in uploads.keys { uploads[key]?.lastProgress = now.monotonic }
            hurry(now: now)
        } else if !wasSignedOut {
            giveUpAllRequests(now: now)
        }
        actions.append(.allChanged)
    }

    /// Cancels every request and puts the affected uploads into the phase from which they can continue.
    private mutating func giveUpAllRequests(now: Now) {
        let given = requests.sorted()
        guard !given.isEmpty else { return }
        requests = RequestTable()
        lingering = SlotTable()
        var keys = Set(active.keys)
        for (_, request) in given {
            keys.formUnion(request.keys)
            putBack(request)
            if request.wasProbe { gates.abandonProbe(request.kind, now: now) }
        }
        actions.append(.cancel(given.map(\.id)))
        for key in keys.sorted() {
            uploads[key]?.inFlight = [:]
            active.setInFlight(0, of: key)
            interrupt(key)
            if case .waiting = uploads[key]?.phase { continue }
            rest(key, now: now)
        }
    }
}

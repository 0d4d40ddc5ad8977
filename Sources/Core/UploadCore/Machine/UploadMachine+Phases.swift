// Moves uploads between phases and the queues of these phases.
extension UploadMachine {
    /// Derives the phase from which an upload continues. No other place decides this.
    mutating func rest(_ key: ContentKey, now: Now) {
        giveUpResuming(key, now: now)
        guard let upload = uploads[key] else { return }
        if upload.isHeld {
            move(key, to: .held)
        } else if upload.record.handle == nil {
            move(key, to: isAsked(.register, about: key) ? .registering : .unregistered)
        } else if upload.isComplete && !upload.mustResume {
            move(key, to: isAsked(.finish, about: key) ? .asking : .verifying(notBefore: now.monotonic))
        } else {
            move(key, to: .ready)
        }
    }

    /// Whether a request of this kind is in progress for an upload. It may have begun before the upload was held.
    private func isAsked(_ kind: RequestKind, about key: ContentKey) -> Bool { requests.contains(kind, about: key) }

    /// Changes an upload's phase and adds the upload to the queue of that phase.
    mutating func move(_ key: ContentKey, to phase: Upload.Phase) {
        guard let upload = uploads[key] else { return }
        let old = upload.phase
        count(upload, -1)
        uploads[key]?.phase = phase
        count(uploads[key], 1)
        if uploads[key]?.holdsSlot == false { leaveSlot(key) }
        enqueue(key)
        wakeGroup(of: key)
        if !looksAlike(old, phase, for: key) { actions.append(.changed(key)) }
    }

    /// Whether reports show the same state and progress in both phases. A closed gate makes a difference.
    private func looksAlike(_ old: Upload.Phase, _ new: Upload.Phase, for key: ContentKey) -> Bool {
        switch (old, new) {
        case (.unregistered, .registering), (.verifying, .asking): gates.trouble == nil
        case (.registering, .ready): gates.trouble == nil && uploads[key]?.acknowledgedBytes == 0
        default: false
        }
    }

    /// Counts an upload that enters (1) or leaves (-1) its phase.
    mutating func count(_ upload: Upload?, _ change: Int) {
        guard let upload else { return }
        switch upload.phase {
        case .registering, .ready: upcoming[isSmall: upload.isSmall] += change
        case .unregistered:
            unregistered[isSmall: upload.isSmall] += change
            // `shrinkAbove` may have been raised for this upload.
            if change < 0 { shrinkAbove = max(window + slack, shrinkAbove + change) }
        default: break
        }
    }

    /// Adds an upload to the queue of its phase. An older entry becomes stale.
    mutating func enqueue(_ key: ContentKey) {
        guard let upload = uploads[key] else { return }
        let place = upload.record.place
        switch upload.phase {
        case .unregistered:
            if upload.isSmall { unregisteredSmall.insert(place) } else { unregisteredLarge.insert(place) }
        case .ready: if upload.isSmall { readySmall.insert(place) } else { readyLarge.insert(place) }
        case .verifying(let notBefore): deadlines.insert(Deadline(at: notBefore, key: key))
        case .waiting(let until): deadlines.insert(Deadline(at: until, key: key))
        case .registering, .resuming, .sending, .asking, .held: break
        }
    }

    mutating func takeSlot(_ key: ContentKey, as phase: Upload.Phase) {
        guard let upload = uploads[key] else { return }
        active.append(upload)
        lingering.remove(key)
        uploads[key]?.turn = 0
        move(key, to: phase)
    }

    mutating func leaveSlot(_ key: ContentKey) {
        guard active.remove(key), let upload = uploads[key], !upload.inFlight.isEmpty else { return }
        lingering.append(upload)
    }

    /// Cancels the requests of one upload. A batch continues for its other uploads.
    mutating func giveUpRequests(of key: ContentKey, now: Now) {
        guard let upload = uploads[key] else { return }
        var given: [RequestID] = upload.inFlight.values.sorted()
        uploads[key]?.inFlight = [:]
        active.setInFlight(0, of: key)
        lingering.remove(key)
        if upload.phase == .resuming || (upload.phase == .registering && traits.batch == 1) {
            given += requests.sorted { $0.keys.contains(key) }.map(\.id)
        }
        for id in given {
            if let request = requests.remove(id), request.wasProbe {
                gates.abandonProbe(request.kind, now: now)
            }
        }
        if !given.isEmpty { actions.append(.cancel(given)) }
        if traits.asksBeforeResuming, upload.record.handle != nil { uploads[key]?.mustResume = true }
    }

    /// Cancels the question how much of an upload the server has, because the upload leaves the phase `resuming` for
    /// another reason than the answer. Example: the answer to a question that began before a pause.
    mutating func giveUpResuming(_ key: ContentKey, now: Now) {
        if uploads[key]?.phase == .resuming, isAsked(.resume, about: key) { giveUpRequests(of: key, now: now) }
    }

    /// Removes an ending upload from all requests. Later answers for it are ignored.
    mutating func detach(_ key: ContentKey, now: Now) {
        for (id, request) in requests.sorted(where: { $0.keys.contains(key) }) {
            _ = requests.remove(key, from: id)
            if requests[id] != nil { continue }
            if request.wasProbe { gates.abandonProbe(request.kind, now: now) }
            actions.append(.cancel([id]))
        }
    }

    /// Handles all deadlines that have passed.
    mutating func passDeadlines(now: Now) {
        while let next = deadlines.first, next.at <= now.monotonic {
            _ = deadlines.removeFirst()
            guard let upload = uploads[next.key] else { continue }
            if case .waiting(let until) = upload.phase, until <= now.monotonic { rest(next.key, now: now) }
            if case .verifying(let notBefore) = upload.phase, notBefore <= now.monotonic {
                dueForQuestion.insert(upload.record.place)
                wakeGroup(of: next.key)
            }
        }
        passCommitDeadlines(now: now)
        passRemovalDeadlines(now: now)
        failTimedOut(now: now)
    }

    /// Schedules a check of the upload for the time its `file_timeout` may expire.
    mutating func watchTimeout(_ key: ContentKey) {
        guard let timeout = limits.fileTimeout, let upload = uploads[key], !upload.isHeld else { return }
        timeouts.insert(Deadline(at: upload.lastProgress + timeout, key: key))
    }

    private mutating func failTimedOut(now: Now) {
        guard let timeout = limits.fileTimeout, !allPaused, signedOut == nil else { return }
        while let next = timeouts.first, next.at <= now.monotonic {
            _ = timeouts.removeFirst()
            guard let upload = uploads[next.key], !upload.isHeld else { continue }
            if waitsItsTurn(upload) { uploads[next.key]?.lastProgress = now.monotonic }
            guard upload.lastProgress + timeout <= now.monotonic, !waitsItsTurn(upload) else {
                watchTimeout(next.key)
                continue
            }
            let last = upload.error.map { "; last error: \($0.message)" } ?? ""
            let message = "no progress within upload.file_timeout (\(timeout))\(last)"
            fail(next.key, FileError(code: "timed_out", message: message, retryable: false), now: now)
        }
    }

    /// Whether an upload could not have made progress, whatever the server did. Such waiting is not a fault of the
    /// upload.
    private func waitsItsTurn(_ upload: Upload) -> Bool {
        if !gates.server.isOpen && gates.server.reason == .signedOut { return true }
        if waitsForGroup(upload) { return true }
        guard upload.failures == 0, gates.trouble == nil else { return false }
        return upload.phase == .unregistered || upload.phase == .ready
    }

    /// Fails an upload for good and deletes it on the server.
    mutating func fail(_ key: ContentKey, _ error: FileError, now: Now) {
        guard let upload = uploads[key] else { return }
        for path in upload.waiters.keys.sorted() {
            actions.append(.ended(path, key, .failed(error), attempts: upload.record.attempts))
        }
        drop(key, now: now)
    }

    /// Ends an upload that the server confirmed.
    ///
    /// - Parameters:
    ///   - sent: whether anything was sent for the path that began the upload.
    ///   - byMD5Alone: whether the server recognised the content by MD5 only.
    mutating func confirm(_ key: ContentKey, _ remote: RemoteObject, sent: Bool, byMD5Alone: Bool = false, now: Now) {
        giveUpResuming(key, now: now)
        guard let upload = uploads[key] else { return }
        var confirmation = Confirmation(
            key: key, seal: upload.record.seal, scope: scope, remote: remote, confirmedAt: now.wall)
        confirmation.isByMD5Alone = byMD5Alone
        actions.append(.write(.confirmation(confirmation)))
        for (path, waiter) in upload.waiters.sorted(by: { $0.key < $1.key }) {
            let outcome = DropOutcome.done(remote, deduplicated: !sent || waiter.joinedLater)
            actions.append(.ended(path, key, outcome, attempts: upload.record.attempts))
        }
        forget(key)
    }
}

// Handles the server's answers.
extension UploadMachine {
    /// Removes one upload from a request after the answer for it.
    ///
    /// - Returns: nil for a stale answer: the machine cancelled the request, or the upload is gone.
    private mutating func answer(_ id: RequestID, _ key: ContentKey, kind: RequestKind) -> Request? {
        guard requests[id]?.kind == kind, let request = requests.remove(key, from: id) else { return nil }
        if let fragment = request.fragment {
            uploads[key]?.inFlight[fragment] = nil
            let left = uploads[key]?.inFlight.count ?? 0
            active.setInFlight(left, of: key)
            if left == 0 { lingering.remove(key) }
        }
        return uploads[key] == nil ? nil : request
    }

    /// Records an answer of the server.
    ///
    /// - Parameter key: the upload whose request succeeded; nil if the answer is no success of an upload.
    mutating func succeed(_ kind: RequestKind, of key: ContentKey? = nil) {
        gates.succeed(kind, of: key, at: handledAt)
    }

    mutating func registered(_ id: RequestID, _ key: ContentKey, _ handle: RemoteHandle, _ point: ResumePoint, now: Now)
    {
        if point != .unasked { succeed(.register, of: key) }
        if let error = Self.refusal(of: handle) {
            if answer(id, key, kind: .register) != nil { fail(key, error, now: now) }
            return
        }
        guard let request = answer(id, key, kind: .register), var upload = uploads[key] else {
            // Nobody wants the upload any more, but the server allocated an id for it.
            if uploads[key]?.record.handle != handle { remove(handle) }
            return
        }
        keep(handle, now: now)
        upload.record.handle = handle
        upload.mustResume = false
        upload.alone = false
        if point == .unasked {
            gates.skip(.register, wasProbe: request.wasProbe, now: now)
        } else {
            upload.forgetFailures()
            upload.timesOutOfStep = 0
        }
        (upload.stated, upload.farthest) = (0, 0)
        upload.forgetFragments()
        settle(point, in: &upload)
        uploads[key] = upload
        actions.append(.write(.upload(upload.record)))
        rest(key, now: now)
    }

    mutating func existing(
        _ id: RequestID, _ key: ContentKey, _ remote: RemoteObject, byMD5Alone: Bool, now: Now
    ) {
        succeed(.register, of: key)
        guard answer(id, key, kind: .register) != nil else { return }
        if let handle = remote.id.map({ RemoteHandle(id: $0) }) {
            if let error = Self.refusal(of: handle) { return fail(key, error, now: now) }
            keep(handle, now: now)
        }
        let byMD5Alone = byMD5Alone || uploads[key]?.record.sha256 == nil
        confirm(key, remote, sent: false, byMD5Alone: byMD5Alone, now: now)
    }

    /// The maximum length of a handle in bytes: enough for the URL of an upload, or for an object's key with the id
    /// of its multipart upload. Every sidecar and every request about the upload contains the id.
    static let longestID = 4096

    /// Returns why a handle is not accepted; nil if it is. The upload fails, and the server expires the id.
    private static func refusal(of handle: RemoteHandle) -> FileError? {
        let length = handle.id.utf8.count + (handle.object?.utf8.count ?? 0)
        guard length > longestID else { return nil }
        let message =
            "the server's id for the upload has \(length) bytes, and the agent stores at most \(longestID); the id begins "
            + "with \"\(handle.name.prefix(40))\"; correct the server, then run `outbox retry`"
        return FileError(code: "id_too_long", message: message, retryable: false)
    }

    mutating func resumed(_ id: RequestID, _ key: ContentKey, _ point: ResumePoint, now: Now) {
        if point != .unasked { succeed(.resume, of: key) }
        guard let request = answer(id, key, kind: .resume), var upload = uploads[key] else { return }
        if point == .unasked {
            gates.skip(.resume, wasProbe: request.wasProbe, now: now)
            // The request that should have created the upload was interrupted.
            if !upload.isComplete, upload.record.handle?.knownName == nil {
                startOver(key)
                return rest(key, now: now)
            }
        }
        upload.mustResume = false
        let before = upload.acknowledgedBytes
        settle(point, in: &upload)
        if case .offset(let bytes) = point {
            // A server that answers only this question makes no progress, nor does one that forgets what it acknowledged.
            if upload.recordStatement(bytes) {
                upload.forgetFailures()
                upload.timesOutOfStep = 0
                // The server takes bytes, although the connection broke before it could acknowledge them.
                succeed(.send, of: key)
            }
            if before > bytes, before - bytes > Upload.smallSize { losesInterruptedBytes = true }
            // The bytes were late: the server stated an offset before it had stored all that arrived.
            if bytes > before, bytes - before > Upload.smallSize { losesInterruptedBytes = false }
        }
        if upload.isVerification, !upload.isComplete {
            actions.append(.write(.forgetConfirmation(key, scope)))
            upload.endVerification()
            actions.append(.write(.upload(upload.record)))
        }
        uploads[key] = upload
        if upload.isComplete { rest(key, now: now) } else { move(key, to: .sending) }
    }

    /// Applies the server's statement of how much it has.
    private mutating func settle(_ point: ResumePoint, in upload: inout Upload) {
        let plan = upload.record.plan
        switch point {
        case .asRecorded, .unasked: return
        case .offset(let bytes):
            let size = UInt64(plan.fragmentSize)
            upload.forgetFragments()
            upload.acknowledged = FragmentSet(prefix: bytes >= plan.size ? plan.count : Int(bytes / size))
            upload.partial = bytes >= plan.size ? 0 : UInt32(bytes % size)
        case .fragments(let receipts):
            upload.forgetFragments()
            for (fragment, receipt) in receipts where (0..<plan.count).contains(fragment) {
                upload.acknowledged.insert(fragment)
                upload.receipts[fragment] = receipt
            }
        }
        actions.append(.write(.forgetFragments(upload.key)))
        for first in stride(from: 0, to: upload.acknowledged.words.count * 64, by: FragmentPage.fragments) {
            actions.append(.write(.fragments(upload.key, upload.page(of: first))))
        }
    }

    mutating func acknowledged(
        _ id: RequestID, _ key: ContentKey, _ fragment: Int, receipt: String?, took: Duration, now: Now
    ) {
        succeed(.send, of: key)
        let sharing = isUnderWay(.send)
        guard let request = answer(id, key, kind: .send), var upload = uploads[key] else { return }
        let range = upload.record.plan.range(of: fragment)
        let sent = range.count - Int(request.skip)
        if !traits.inOrder || sent <= Pace.unit {
            pace.observe(took, bytes: sent, sharing: sharing)
        } else if request.mark.bytes == UInt64(request.skip) {
            pace.observeStream(took, bytes: sent, sharing: sharing)
        }
        upload.acknowledged.insert(fragment)
        if let receipt { upload.receipts[fragment] = receipt }
        upload.turn += UInt64(range.count) - UInt64(upload.partial)
        upload.partial = 0
        // The answer says nothing about a fragment that was refused. Its pause goes on.
        let awaitsRefused = upload.setback?.isAbout(otherThan: fragment) ?? false
        if !awaitsRefused {
            upload.forgetFailures()
            upload.error = nil
        }
        upload.lastProgress = now.monotonic
        if traits.asksBeforeResuming { upload.recordStatement(range.upperBound) }
        uploads[key] = upload
        actions.append(.write(.fragments(key, upload.page(of: fragment))))
        if upload.isComplete && upload.inFlight.isEmpty {
            rest(key, now: now)
        } else if case .waiting = upload.phase, !awaitsRefused {
            rest(key, now: now)
        } else {
            actions.append(.changed(key))
        }
    }

    /// Counts bytes of a fragment in flight, until the server states an offset.
    mutating func passed(_ id: RequestID, _ key: ContentKey, _ bytes: UInt64, now: Now) {
        guard traits.inOrder, traits.asksBeforeResuming, var request = requests[id], let fragment = request.fragment,
            var upload = uploads[key], upload.inFlight[fragment] == id
        else { return }
        let range = upload.record.plan.range(of: fragment)
        // Only the acknowledgement completes the fragment.
        let bytes = min(bytes, UInt64(range.count) - 1)
        if request.wasProbe, bytes >= UInt64(request.skip) + Self.provingSize {
            // The answer to a long request may take an hour.
            gates.openEarly(.send)
            request.wasProbe = false
            requests.store(request, as: id)
        }
        if bytes >= request.mark.bytes + UInt64(Pace.unit) {
            pace.observeStream(
                now.monotonic - request.mark.at, bytes: Int(bytes - request.mark.bytes), sharing: isUnderWay(.send))
            request.mark = Mark(at: now.monotonic, bytes: bytes)
            requests.store(request, as: id)
        }
        guard bytes != UInt64(upload.partial) else { return }
        upload.turn += bytes > upload.partial ? bytes - UInt64(upload.partial) : 0
        upload.partial = UInt32(bytes)
        if range.lowerBound + bytes > upload.farthest {
            upload.farthest = range.lowerBound + bytes
            upload.lastProgress = now.monotonic
        }
        uploads[key] = upload
        actions.append(.changed(key))
    }

    mutating func finished(_ id: RequestID, _ key: ContentKey, _ outcome: FinishOutcome, now: Now) {
        succeed(.finish, of: key)
        guard answer(id, key, kind: .finish) != nil, var upload = uploads[key] else { return }
        upload.forgetFailures()
        upload.alone = false
        switch outcome {
        case .confirmed(let remote):
            let object = RemoteObject(id: remote.id ?? upload.record.handle?.knownName, url: remote.url)
            confirm(key, object, sent: !upload.isVerification, now: now)
        case .assembling:
            upload.questions += 1
            upload.lastProgress = now.monotonic
            uploads[key] = upload
            let pause = min(Duration.seconds(1 << min(upload.questions - 1, 5)), .seconds(30))
            if upload.isHeld {
                rest(key, now: now)
            } else {
                move(key, to: .verifying(notBefore: now.monotonic + pause))
            }
        case .failed(let error):
            upload.questions = 0
            if upload.isVerification { actions.append(.write(.forgetConfirmation(key, scope))) }
            upload.endVerification()
            upload.record.assemblyFailures += 1
            upload.forgetFragments()
            uploads[key] = upload
            if upload.record.assemblyFailures >= Self.assemblyAttempts {
                let message = "\(error.message) (\(upload.record.assemblyFailures) times for the same bytes)"
                fail(key, FileError(code: "assembly_failed", message: message, retryable: false), now: now)
            } else {
                actions.append(.write(.forgetFragments(key)))
                wait(key, error, pause: backoff.pause(afterFailures: upload.record.assemblyFailures), now: now)
            }
        }
    }

    mutating func failed(_ id: RequestID, _ key: ContentKey, _ failure: RemoteFailure, now: Now) {
        guard let kind = requests[id]?.kind else { return }
        guard let request = answer(id, key, kind: kind) else { return }
        switch failure {
        case .temporary(let error, _, .silent) where hasAnswered(since: request):
            if request.wasProbe { gates.abandonProbe(kind, now: now) }
            failLater(key, error, now: now)
        // A post needs all its files, so they stay together.
        case .temporary(_, _, let outlook)
        where request.wasBatch && outlook.mayBeAboutContent && groups.name(of: key) == nil:
            close(kind, failure, request: request, now: now)
            askAlone(key, now: now)
        case .temporary(let error, _, _):
            let setback = setback(error, failure, of: key, request)
            let pause =
                setback.isOwn ? backoff.pause(askedBy: failure) : close(kind, failure, request: request, now: now)
            if setback.isOwn && request.wasProbe { succeed(kind) }
            let longest = setback.isOwn ? nil : longestWait(after: failure, now: now)
            failLater(key, error, pause: pause, atMost: longest, setback: setback, now: now)
        case .outOfStep(let error):
            succeed(kind)
            askAnew(key, error, now: now)
        case .busyUpload(let error, _):
            succeed(kind)
            failLater(key, error, pause: backoff.pause(askedBy: failure), now: now)
        case .signedOut where id <= lastWithOldCredentials:
            if request.wasProbe { gates.abandonProbe(kind, now: now) }
            interrupt(key)
            rest(key, now: now)
        case .signedOut:
            close(kind, failure, request: request, now: now)
            interrupt(key)
            rest(key, now: now)
        case .forgotten:
            if request.wasBatch {
                gates.answerBatch(kind, wasProbe: request.wasProbe, now: now)
                askAlone(key, now: now)
            } else {
                forgotten(key, request: request, now: now)
            }
        case .permanent(let error):
            succeed(kind)
            if request.wasBatch { askAlone(key, now: now) } else { fail(key, error, now: now) }
        case .source(let problem):
            if request.wasProbe { gates.abandonProbe(kind, now: now) }
            sourceFailed(key, problem, now: now)
        case .cancelled where stopped: interrupt(key)
        case .cancelled:
            close(kind, failure, request: request, now: now)
            failLater(key, Self.interrupted, now: now)
        }
    }

    /// The error of a request cancelled by something other than the machine.
    static let interrupted = FileError(
        code: "interrupted", message: "a request was cancelled before the server answered", retryable: true)

    /// Closes the gates after a failure that is not one file's fault.
    ///
    /// - Returns: the pause until the next attempt; nil for the ordinary pause.
    @discardableResult
    mutating func close(
        _ kind: RequestKind, _ failure: RemoteFailure, request: Request, now: Now
    ) -> Duration? {
        var backoff = self.backoff
        defer { self.backoff = backoff }
        let ceiling = limits.retryInterval
        switch failure {
        case .temporary(let error, let retryAfter, let outlook):
            let longest = outlook.isAbsence ? longestAbsence(now: now) : ceiling
            // The next probe takes another upload, so it need not wait for somebody to fix the cause.
            let wanted = Backoff.requested(retryAfter)
            let pause = Gate.Pause(isForAll: wanted != nil) {
                wanted ?? backoff.pause(afterFailures: $0, atMost: longest)
            }
            gates.fail(
                kind, .unreachable, of: request.asker, error: error, pause: pause, wasProbe: request.wasProbe, now: now)
            return backoff.pause(askedBy: failure)
        case .signedOut(let error):
            gates.fail(
                kind, .signedOut, of: request.asker, error: error, pause: .init(isForAll: true) { _ in ceiling },
                wasProbe: request.wasProbe, now: now)
        case .outOfStep, .busyUpload, .forgotten, .permanent, .source, .cancelled:
            gates.holdBack(
                kind, of: request.asker, error: Self.interrupted, pause: .init { backoff.pause(afterFailures: $0) },
                answered: false, wasProbe: request.wasProbe, now: now)
        }
        return nil
    }

    /// Holds back requests of the same kind after an answer that says nothing about the server.
    private mutating func holdBack(_ request: Request, _ error: FileError, now: Now) {
        var backoff = self.backoff
        gates.holdBack(
            request.kind, of: request.asker, error: error, pause: .init { backoff.pause(afterFailures: $0) },
            answered: true, wasProbe: request.wasProbe, now: now)
        self.backoff = backoff
    }

    /// Returns the longest pause for a server that does not answer. The pause is shorter if the server answered
    /// recently, since it is probably restarting.
    private func longestAbsence(now: Now) -> Duration {
        guard let last = gates.lastAnswer, now.monotonic - last < Self.memoryOfAnswer else {
            return limits.retryInterval
        }
        return min(limits.retryInterval, Self.absencePause)
    }

    /// Returns the longest pause of one upload or commit after a failure that closed the gates. While the server
    /// answers nobody, an upload waits no longer than the gate. A single failure between answers may be the upload's
    /// own fault.
    func longestWait(after failure: RemoteFailure, now: Now) -> Duration? {
        guard case .temporary(_, _, let outlook) = failure, outlook.isAbsence, gates.server.failures > 1
        else { return nil }
        return longestAbsence(now: now)
    }

    /// Whether the server answered any request after this one began.
    private func hasAnswered(since request: Request) -> Bool {
        gates.lastAnswer.map { $0 > request.begun } == true
    }

    /// Updates the assumptions about the server's side after an interruption.
    mutating func interrupt(_ key: ContentKey) {
        if traits.asksBeforeResuming, uploads[key]?.record.handle != nil { uploads[key]?.mustResume = true }
    }

    /// Lets one upload wait after a temporary failure. Its other fragments in flight may still arrive.
    private mutating func failLater(
        _ key: ContentKey, _ error: FileError, pause: Duration? = nil, atMost longest: Duration? = nil,
        setback: Upload.Setback? = nil, now: Now
    ) {
        interrupt(key)
        if case .waiting = uploads[key]?.phase { return }
        uploads[key]?.failures += 1
        uploads[key]?.setback = setback
        if setback?.isRefusal == true { refusals.insert(key) }
        let failures = uploads[key]?.failures ?? 1
        wait(key, error, pause: pause ?? backoff.pause(afterFailures: failures, atMost: longest), now: now)
    }

    /// Asks the server how much of an upload it has: at once the first time, after growing pauses until the server states
    /// a higher offset than before. An acknowledgement alone ends no pause: the server may forget what it acknowledged.
    private mutating func askAnew(_ key: ContentKey, _ error: FileError, now: Now) {
        guard traits.asksBeforeResuming, let upload = uploads[key], upload.record.handle != nil else {
            return failLater(key, error, now: now)
        }
        uploads[key]?.timesOutOfStep += 1
        if upload.timesOutOfStep > 0 {
            return failLater(key, error, pause: backoff.pause(afterFailures: upload.timesOutOfStep), now: now)
        }
        interrupt(key)
        rest(key, now: now)
    }

    private mutating func wait(_ key: ContentKey, _ error: FileError, pause: Duration, now: Now) {
        giveUpResuming(key, now: now)
        uploads[key]?.error = error
        uploads[key]?.nextAttemptAt = now.wall.advanced(by: pause)
        uploads[key]?.record.attempts += 1
        store(key)
        if uploads[key]?.isHeld == true {
            rest(key, now: now)
        } else {
            move(key, to: .waiting(until: now.monotonic + pause))
        }
    }

    /// Marks an upload to go into a request of its own, because the server refused the whole batch.
    private mutating func askAlone(_ key: ContentKey, now: Now) {
        uploads[key]?.alone = true
        rest(key, now: now)
    }

    /// Starts an upload over because the server no longer knows its id: at once the first time, later after a pause.
    private mutating func forgotten(_ key: ContentKey, request: Request, now: Now) {
        giveUpRequests(of: key, now: now)
        if let handle = uploads[key]?.record.handle, handle.mayHoldParts { remove(handle) }
        uploads[key]?.timesForgotten += 1
        startOver(key)
        guard let upload = uploads[key] else { return }
        if upload.timesForgotten == 1 {
            succeed(request.kind)
            return rest(key, now: now)
        }
        // Prevents a loop with a server that forgets everything it receives.
        let error = FileError(code: "forgotten", message: "the server forgot the upload a second time", retryable: true)
        holdBack(request, error, now: now)
        // Each time all bytes are sent again, so the pauses grow twice as fast as after other failures.
        wait(key, error, pause: self.backoff.pause(afterFailures: 2 * (upload.timesForgotten - 1)), now: now)
    }

    /// Drops an upload's handle and progress, so that it is registered again.
    private mutating func startOver(_ key: ContentKey) {
        guard var upload = uploads[key] else { return }
        upload.record.handle = nil
        if upload.isVerification { actions.append(.write(.forgetConfirmation(key, scope))) }
        upload.endVerification()
        upload.mustResume = false
        upload.forgetFragments()
        uploads[key] = upload
        actions.append(.write(.forgetFragments(key)))
        actions.append(.write(.upload(upload.record)))
    }

    /// Handles a path whose bytes are unavailable. Another path with the same content may supply them.
    private mutating func sourceFailed(_ key: ContentKey, _ problem: SourceProblem, now: Now) {
        interrupt(key)
        guard let upload = uploads[key], upload.waiters[problem.path] != nil else {
            rest(key, now: now)
            return
        }
        switch problem.kind {
        case .changed:
            actions.append(.takeAgain(problem.path, key))
            leave(problem.path, key, now: now)
        case .unreadable(let error) where error.retryable: failLater(key, error, now: now)
        case .unreadable(let error):
            actions.append(.ended(problem.path, key, .failed(error), attempts: upload.record.attempts))
            leave(problem.path, key, now: now)
        case .missing:
            let message =
                "\(problem.path) can't be found; the agent tries again, and cancels the upload if the file was removed"
            let error = FileError(code: Self.fileMissing, message: message, retryable: true)
            failLater(key, error, now: now)
        }
        if uploads[key]?.phase == .sending, uploads[key]?.mustResume == true { rest(key, now: now) }
    }
}

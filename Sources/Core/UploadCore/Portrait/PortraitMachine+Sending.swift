// From the picture shown to the picture on the server.
extension PortraitMachine {
    mutating func start(_ account: String?, _ isAllPaused: Bool, now: Now) {
        self.account = account
        self.isAllPaused = isAllPaused
        guard let newest, newest.fate == .pending else { return }
        if let owner = newest.account, owner != account {
            let why = account.map { "\($0) signed in instead of \(owner)" } ?? "\(owner) is not signed in any more"
            settle(.cancelled, Self.ended(why), now: now)
        } else {
            phase = .pending
            actions.append(.announce(.pending(newest.drop.path, newest.drop.key)))
            reportNewest()
        }
    }

    static func ended(_ why: String) -> FileError {
        FileError(
            code: "session_refused",
            message: "\(why): the profile picture is not sent; drop it again after `outbox login`",
            retryable: false)
    }

    mutating func sendNext(now: Now) {
        guard phase == .pending, errand.isReady, !isHeld, var record = newest else { return }
        record.attempts += 1
        record.startedAt = record.startedAt ?? now.wall
        newest = record
        lastRequest += 1
        errand.begin(lastRequest)
        actions.append(.note(record))
        actions.append(.upload(lastRequest, record.id))
        reportNewest()
    }

    mutating func uploaded(_ id: RequestID, url: String, now: Now) {
        guard errand.request == id else { return }
        errand.end()
        // A picture that reached the server just before its request was cancelled counts only while no other picture
        // replaced it. The replacement, of which no attempt began yet, is sent next.
        guard isPending, let newest, newest.attempts > 0 else { return }
        refusal = nil
        settle(.done, url: url, now: now)
    }

    mutating func failed(_ id: RequestID, _ failure: RemoteFailure, now: Now) {
        guard errand.request == id else { return }
        let isGivenUp = errand.isGivenUp
        errand.end()
        if isGivenUp { return }
        switch failure {
        case .temporary(let error, _, _), .outOfStep(let error), .busyUpload(let error, _):
            wait(error, pause: backoff.pause(askedBy: failure), now: now)
        case .forgotten, .cancelled: wait(Self.interrupted, now: now)
        case .source(let problem):
            let error = Self.unreadable(problem)
            if error.retryable { wait(error, now: now) } else { settle(.failed, error, now: now) }
        case .permanent(let error): settle(.failed, error, now: now)
        case .signedOut where id <= lastWithOldCredentials: break
        case .signedOut(let error): sessionRefused(error, now: now)
        }
    }

    private static let interrupted = FileError(
        code: "interrupted", message: "the upload of the profile picture was interrupted", retryable: true)

    private static func unreadable(_ problem: SourceProblem) -> FileError {
        if case .unreadable(let error) = problem.kind { return error }
        let message = "the profile picture is gone from the state directory; drop \(problem.path) again"
        return FileError(code: "unreadable", message: message, retryable: false)
    }

    private mutating func wait(_ error: FileError, pause: Duration? = nil, now: Now) {
        errand.fail(error, pause: pause, backoff: &backoff, now: now)
        // A picture without an account was sent with this account's login, and belongs to this account from now on.
        if newest?.account == nil, refusal == nil, let account { newest?.account = account }
        if let newest { actions.append(.note(newest)) }
        reportNewest()
    }

    /// Cancels the request in progress, if any. The next request waits for its end.
    mutating func giveUpRequest() {
        if let id = errand.giveUp() { actions.append(.cancel(id)) }
    }

    // MARK: Ending

    /// Ends the newest picture. The final state becomes durable before it is reported.
    private mutating func settle(
        _ fate: PortraitRecord.Fate, _ error: FileError? = nil, url: String? = nil, now: Now
    ) {
        guard var record = newest, record.fate == .pending else { return }
        giveUpRequest()
        errand.reset()
        record.fate = fate
        record.error = error
        record.url = url
        record.finishedAt = now.wall
        phase = .settling(record)
        actions.append(.settle(record))
        if fate == .done { reportNewest() }
    }

    mutating func settled() {
        guard case .settling(let record) = phase else { return }
        newest = record
        phase = .idle
        let (path, key) = (record.drop.path, record.drop.key)
        if let error = record.error {
            actions.append(.announce(.discarded(path, key, error)))
        } else {
            actions.append(.announce(.done(path, key, url: record.url ?? "")))
        }
        reportNewest()
    }

    mutating func unsettled(_ error: FileError, now: Now) {
        if case .settling = phase { errand.fail(error, backoff: &backoff, now: now) }
    }

    // MARK: User actions

    /// The error of a picture whose file was removed.
    package static let removed = FileError(
        code: "removed", message: "the file was removed before it was the profile picture on the server",
        retryable: false)

    mutating func takenBack(_ path: RelativePath, _ key: ContentKey, _ error: FileError, now: Now) {
        var isKnown = false
        for candidate in candidates where candidate.drop.path == path {
            isKnown = isKnown || candidate.drop.key == key
            drop(candidate, as: .cancelled, error, now: now)
        }
        if let newest, newest.fate == .pending, newest.drop.path == path {
            isKnown = isKnown || newest.drop.key == key
            if isPending { settle(.cancelled, error, now: now) }
        }
        if isKnown { return }
        // The picture is unknown here: superseded, or never a candidate. The caller still waits for a final state.
        actions.append(
            .report(PortraitReport(path: path, key: key, state: .cancelled, error: error, finishedAt: now.wall)))
    }

    mutating func renamed(_ old: RelativePath, to new: RelativePath) {
        for index in candidates.indices where candidates[index].drop.path == old { candidates[index].drop.path = new }
        guard newest?.drop.path == old else { return }
        newest?.drop.path = new
        if case .settling(var record) = phase {
            record.drop.path = new
            phase = .settling(record)
        }
        if let newest { actions.append(.note(newest)) }
    }

    mutating func pause(_ path: RelativePath, _ isPaused: Bool) {
        for index in candidates.indices where candidates[index].drop.path == path {
            candidates[index].drop.isPaused = isPaused
            report(candidates[index])
        }
        guard isPending, newest?.drop.path == path, newest?.drop.isPaused != isPaused else { return }
        newest?.drop.isPaused = isPaused
        if let newest { actions.append(.note(newest)) }
        holdOrRelease()
    }

    mutating func pauseAll(_ isPaused: Bool) {
        guard isAllPaused != isPaused else { return }
        isAllPaused = isPaused
        for candidate in candidates { report(candidate) }
        if isPending { holdOrRelease() }
    }

    private mutating func holdOrRelease() {
        if isHeld { giveUpRequest() }
        reportNewest()
    }

    mutating func retry(_ path: RelativePath) {
        for index in candidates.indices where candidates[index].drop.path == path {
            _ = candidates[index].work.hurry()
        }
        if newest?.drop.path == path { hurry() }
    }

    // MARK: Sessions, networks, time

    mutating func credentialsChanged(_ account: String?) {
        self.account = account
        refusal = nil
        lastWithOldCredentials = lastRequest
        hurry()
    }

    mutating func serverTrouble(_ error: FileError?, now: Now) {
        if let error {
            if error.isSignedOut { sessionRefused(error, now: now) }
        } else {
            refusal = nil
            hurry()
        }
    }

    private mutating func sessionRefused(_ error: FileError, now: Now) {
        refusal = error
        endSession(Self.ended(error.message), now: now)
        guard isPending, newest?.account == nil else { return }
        giveUpRequest()
        if phase == .signedOut { return }
        waitForLogin(error, now: now)
        reportNewest()
    }

    mutating func waitForLogin(_ error: FileError, now: Now) {
        phase = .signedOut
        errand.wait(backoff.ceiling, error, now: now)
    }

    mutating func signedOut(now: Now) {
        account = nil
        refusal = FileError(
            code: "signed_out", message: "nobody is signed in; run `outbox login` to send the picture", retryable: true)
        endSession(Self.ended("signed out"), now: now)
        if isPending { settle(.cancelled, Self.ended("signed out"), now: now) }
    }

    /// Cancels the drops of the session that ended.
    private mutating func endSession(_ error: FileError, now: Now) {
        for candidate in candidates where candidate.account != nil {
            drop(candidate, as: .cancelled, error, now: now)
        }
        if isPending, newest?.account != nil { settle(.cancelled, error, now: now) }
    }

    /// Retries a waiting picture at once.
    mutating func hurry() {
        guard isPending, errand.hurry() else { return }
        phase = .pending
        reportNewest()
    }

    mutating func tick(now: Now) {
        for index in candidates.indices { _ = candidates[index].work.passDeadline(now: now) }
        if isPending && isHeld || !errand.passDeadline(now: now) { return }
        switch phase {
        case .signedOut: phase = .pending
        case .settling(let record): actions.append(.settle(record))
        case .idle, .pending: break
        }
    }
}

import UploadCore

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
            phase = .ready
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
        guard case .ready = phase, request == nil, !isHeld, var record = newest else { return }
        let id = nextRequest()
        record.attempts += 1
        record.startedAt = record.startedAt ?? now.wall
        newest = record
        request = Request(id: id, portrait: record.id)
        phase = .sending
        actions.append(.note(record))
        actions.append(.upload(id, record.id))
        reportNewest()
    }

    mutating func uploaded(_ id: RequestID, url: String, now: Now) {
        guard let request, request.id == id else { return }
        self.request = nil
        // A picture that reached the server just before its request was cancelled counts only while no other picture
        // replaced it. Otherwise the replacement is sent next.
        guard isPending, request.portrait == newest?.id else { return }
        refusal = nil
        settle(.done, url: url, now: now)
    }

    mutating func failed(_ id: RequestID, _ failure: RemoteFailure, now: Now) {
        guard let request, request.id == id else { return }
        self.request = nil
        if request.isGivenUp { return }
        switch failure {
        case .temporary(let error, let retryAfter, let outlook):
            wait(error, retryAfter, slow: outlook == .lasting, now: now)
        case .forgotten: wait(Self.interrupted, now: now)
        case .cancelled: wait(Self.interrupted, now: now)
        case .source(let problem): settle(.failed, Self.unreadable(problem), now: now)
        case .permanent(let error): settle(.failed, error, now: now)
        case .signedOut where request.hasOldCredentials: phase = .ready
        case .signedOut(let error): sessionRefused(error, now: now)
        }
    }

    private static let interrupted = FileError(
        code: "interrupted", message: "portrait.do: the request was interrupted", retryable: true)

    private static func unreadable(_ problem: SourceProblem) -> FileError {
        if case .unreadable(let error) = problem.kind { return error }
        let message = "the profile picture is gone from the state directory; drop \(problem.path) again"
        return FileError(code: "unreadable", message: message, retryable: false)
    }

    private mutating func wait(_ error: FileError, _ retryAfter: Duration? = nil, slow: Bool = false, now: Now) {
        let failures = countFailure()
        // A requested pause shorter than the first backoff pause is ignored.
        let asked = retryAfter.flatMap { $0 < Backoff.first ? nil : $0 }
        phase = .waiting(
            slow && asked == nil
                ? makeLongPause(error, now: now) : makePause(after: failures, error, asked: asked, now: now))
        // A picture without an account was sent with this account's login, and belongs to this account from now on.
        if newest?.account == nil, refusal == nil, let account { newest?.account = account }
        if let newest { actions.append(.note(newest)) }
        reportNewest()
    }

    /// Cancels the request in progress, if any. The next request waits for its end.
    mutating func giveUpRequest() {
        guard let current = request, !current.isGivenUp else { return }
        request?.isGivenUp = true
        actions.append(.cancel(current.id))
    }

    // MARK: Ending

    /// Ends the newest picture. The final state becomes durable before it is reported.
    private mutating func settle(
        _ fate: PortraitRecord.Fate, _ error: FileError? = nil, url: String? = nil, now: Now
    ) {
        guard var record = newest, record.fate == .pending else { return }
        giveUpRequest()
        record.fate = fate
        record.error = error
        record.url = url
        record.finishedAt = now.wall
        phase = .settling(record, retryAt: nil)
        actions.append(.settle(record))
        if fate == .done { reportNewest() }
    }

    mutating func settled() {
        guard case .settling(let record, _) = phase else { return }
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
        guard case .settling(let record, _) = phase else { return }
        phase = .settling(record, retryAt: makePause(after: countFailure(), error, now: now).until)
    }

    // MARK: User actions

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

    /// Whether a newest picture exists whose fate is still pending.
    var isPending: Bool {
        switch phase {
        case .idle, .settling: false
        case .ready, .sending, .waiting, .signedOut: true
        }
    }

    mutating func renamed(_ old: RelativePath, to new: RelativePath) {
        for index in candidates.indices where candidates[index].drop.path == old { candidates[index].drop.path = new }
        guard newest?.drop.path == old else { return }
        newest?.drop.path = new
        if case .settling(var record, let retryAt) = phase {
            record.drop.path = new
            phase = .settling(record, retryAt: retryAt)
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
        if isHeld, phase == .sending {
            giveUpRequest()
            phase = .ready
        }
        reportNewest()
    }

    mutating func retry(_ path: RelativePath) {
        for index in candidates.indices where candidates[index].drop.path == path { candidates[index].pause = nil }
        if newest?.drop.path == path { hurry(evenSignedOut: true) }
    }

    // MARK: Sessions, networks, time

    mutating func credentialsChanged(_ account: String?) {
        self.account = account
        refusal = nil
        request?.hasOldCredentials = true
        hurry(evenSignedOut: true)
    }

    mutating func sessionRefused(_ error: FileError, now: Now) {
        refusal = error
        endSession(Self.ended(error.message), now: now)
        guard isPending, newest?.account == nil else { return }
        giveUpRequest()
        if case .signedOut = phase, request == nil { return }
        phase = .signedOut(makeLongPause(error, now: now))
        reportNewest()
    }

    mutating func sessionWorks() {
        refusal = nil
        if case .signedOut = phase { hurry(evenSignedOut: true) }
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
    mutating func hurry(evenSignedOut: Bool = false) {
        switch phase {
        case .signedOut where evenSignedOut, .waiting:
            forgetFailures()
            phase = .ready
            reportNewest()
        case .signedOut, .idle, .ready, .sending, .settling: break
        }
    }

    mutating func tick(_ time: MonotonicTime) {
        for index in candidates.indices {
            if let pause = candidates[index].pause, pause.until <= time { candidates[index].pause = nil }
        }
        switch phase {
        case .waiting(let pause) where pause.until <= time && !isHeld,
            .signedOut(let pause) where pause.until <= time && !isHeld:
            phase = .ready
        case .settling(let record, .some(let retryAt)) where retryAt <= time:
            phase = .settling(record, retryAt: nil)
            actions.append(.settle(record))
        case .waiting, .signedOut, .settling, .idle, .ready, .sending: break
        }
    }
}

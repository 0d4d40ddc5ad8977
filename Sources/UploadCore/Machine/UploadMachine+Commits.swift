// Sends commits, which tell the server about revisions of sources.
extension UploadMachine {
    mutating func commit(_ commit: SourceCommit, forgotten: Int, now: Now) {
        let id = commit.sourceID
        guard commits[id]?.commit != commit else { return }
        giveUpCommit(of: id, now: now)
        commits[id] = PendingCommit(commit)
        actions.append(.commitChanged(id))
        if forgotten > 0 {
            wait(id, Self.forgottenFiles, pause: backoff.pause(afterFailures: forgotten), now: now)
        }
    }

    mutating func withdrawCommit(_ id: String, now: Now) {
        guard commits[id] != nil else { return }
        giveUpCommit(of: id, now: now)
        commits[id] = nil
        // This gate holds back only commits, and none remains.
        if commits.isEmpty { gates.open(.commit) }
        actions.append(.commitChanged(id))
    }

    mutating func retryCommit(_ id: String, now: Now) {
        guard commits[id] != nil else { return }
        gates.hurry(now: now)
        commits[id]?.hurry()
        actions.append(.commitChanged(id))
    }

    mutating func hurryCommits() {
        for id in commits.filter({ $0.value.deadline != nil }).keys.sorted() {
            commits[id]?.hurry()
            actions.append(.commitChanged(id))
        }
    }

    /// Marks commits as ready when their next attempt is due.
    mutating func passCommitDeadlines(now: Now) {
        let due = commits.filter { $0.value.deadline.map { $0 <= now.monotonic } ?? false }
        for id in due.keys.sorted() {
            commits[id]?.phase = .ready
            actions.append(.commitChanged(id))
        }
    }

    /// The commits that may be sent, oldest first.
    var readyCommits: [SourceCommit] {
        commits.values.filter { $0.phase == .ready }.map(\.commit)
            .sorted { ($0.createdAt.milliseconds, $0.sourceID) < ($1.createdAt.milliseconds, $1.sourceID) }
    }

    mutating func committed(_ id: RequestID, url: String?) {
        succeed(.commit)
        guard let (_, commit) = answer(id) else { return }
        end(commit, .done(url: url))
    }

    mutating func commitFailed(_ id: RequestID, _ failure: RemoteFailure, now: Now) {
        guard let (request, commit) = answer(id) else { return }
        switch failure {
        case .temporary(let error, _, _):
            let pause = close(.commit, failure, request: request, now: now)
            failLater(commit, error, pause: pause, atMost: longestWait(after: failure, now: now), now: now)
        case .signedOut where id <= lastWithOldCredentials:
            if request.wasProbe { gates.abandonProbe(.commit, now: now) }
        case .signedOut: close(.commit, failure, request: request, now: now)
        case .permanent(let error):
            succeed(.commit)
            end(commit, .refused(error))
        case .forgotten:
            succeed(.commit)
            end(commit, .forgotten(Self.forgottenFiles))
        case .cancelled where stopped: break
        case .cancelled, .source:
            close(.commit, .cancelled, request: request, now: now)
            failLater(commit, Self.interrupted, now: now)
        }
    }

    /// The server does not know a file that it confirmed earlier.
    private static let forgottenFiles = FileError(
        code: "forgotten",
        message:
            "the server does not know one of the source's files any more; each is asked about, and sent again where "
            + "it is lost", retryable: true)

    /// Removes an answered request and returns its commit.
    ///
    /// - Returns: nil for the stale answer of a cancelled request.
    private mutating func answer(_ id: RequestID) -> (Request, SourceCommit)? {
        guard let request = requests[id], let source = request.source else { return nil }
        requests[id] = nil
        guard let commit = commits[source]?.commit else { return nil }
        commits[source]?.phase = .ready
        actions.append(.commitChanged(source))
        return (request, commit)
    }

    private mutating func end(_ commit: SourceCommit, _ outcome: CommitOutcome) {
        commits[commit.sourceID] = nil
        actions.append(.commitEnded(sourceID: commit.sourceID, revision: commit.revision, outcome))
    }

    private mutating func failLater(
        _ commit: SourceCommit, _ error: FileError, pause: Duration? = nil, atMost longest: Duration? = nil, now: Now
    ) {
        let failures = (commits[commit.sourceID]?.failures ?? 0) + 1
        commits[commit.sourceID]?.failures = failures
        wait(commit.sourceID, error, pause: pause ?? backoff.pause(afterFailures: failures, atMost: longest), now: now)
    }

    private mutating func wait(_ id: String, _ error: FileError, pause: Duration, now: Now) {
        commits[id]?.phase = .waiting(until: now.monotonic + pause)
        commits[id]?.error = error
        commits[id]?.nextAttemptAt = now.wall.advanced(by: pause)
    }

    private mutating func giveUpCommit(of id: String, now: Now) {
        guard case .asking(let request) = commits[id]?.phase else { return }
        if requests.removeValue(forKey: request)?.wasProbe == true { gates.abandonProbe(.commit, now: now) }
        actions.append(.cancel([request]))
    }
}

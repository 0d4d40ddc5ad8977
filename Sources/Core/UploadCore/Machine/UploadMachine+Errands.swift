/// A source's revision on its way to the server. In memory only; the source's record stores it.
struct PendingCommit: Equatable, Sendable {
    let commit: SourceCommit
    var errand = Errand()
}

// Sends what goes beside uploads: commits, which tell the server about revisions of sources, and removals, which delete
// unwanted uploads on the server.
extension UploadMachine {
    // MARK: Commits

    mutating func commit(_ commit: SourceCommit, forgotten: Int, now: Now) {
        let id = commit.sourceID
        guard commits[id]?.commit != commit else { return }
        giveUpCommit(of: id, now: now)
        commits[id] = PendingCommit(commit: commit)
        actions.append(.commitChanged(id))
        if forgotten > 0 {
            commits[id]?.errand.wait(backoff.pause(afterFailures: forgotten), Self.forgottenFiles, now: now)
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

    private mutating func giveUpCommit(of id: String, now: Now) {
        guard let request = commits[id]?.errand.request else { return }
        if requests.remove(request)?.wasProbe == true { gates.abandonProbe(.commit, now: now) }
        actions.append(.cancel([request]))
    }

    mutating func retryCommit(_ id: String, now: Now) {
        guard commits[id] != nil else { return }
        gates.hurry(now: now)
        _ = commits[id]?.errand.hurry()
        actions.append(.commitChanged(id))
    }

    mutating func hurryCommits() {
        for id in commits.keys.sorted() where commits[id]?.errand.hurry() == true {
            actions.append(.commitChanged(id))
        }
    }

    /// Marks commits as ready when their next attempt is due.
    mutating func passCommitDeadlines(now: Now) {
        for id in commits.keys.sorted() where commits[id]?.errand.passDeadline(now: now) == true {
            actions.append(.commitChanged(id))
        }
    }

    /// Sends the commits that are ready, oldest first.
    mutating func scheduleCommits(now: Now) {
        guard !commits.isEmpty, mayBegin(.commit, now) else { return }
        let ready = commits.values.filter { $0.errand.isReady && isInTurn($0.errand.failures) }.map(\.commit)
            .sorted { ($0.createdAt.milliseconds, $0.sourceID) < ($1.createdAt.milliseconds, $1.sourceID) }
        for commit in ready {
            guard mayBegin(.commit, now), isUnderWay(.commit) < limits.filesInFlight else { return }
            let id = begin(.commit, [], source: commit.sourceID)
            commits[commit.sourceID]?.errand.begin(id)
            actions.append(.commit(id, commit))
            actions.append(.commitChanged(commit.sourceID))
        }
    }

    /// The server does not know a file that it confirmed earlier.
    private static let forgottenFiles = FileError(
        code: "forgotten",
        message:
            "the server does not know a file of the post any more; the agent asks about each file, and sends lost "
            + "files again", retryable: true)

    // MARK: Removals

    /// Schedules the deletion of an upload on the server. The schedule survives restarts.
    mutating func remove(_ handle: RemoteHandle) {
        if handle.knownName == nil { return }
        removals.append(handle)
        actions.append(.write(.removal(handle, scope)))
    }

    /// Schedules the deletion of confirmed contents.
    mutating func discard(_ handles: [RemoteHandle]) {
        let underWay = requests.all.flatMap(\.removals)
        for handle in handles where !removals.contains(handle) && !underWay.contains(handle) { remove(handle) }
    }

    /// Cancels the deletion of an upload because the server issued its id again.
    mutating func keep(_ handle: RemoteHandle, now: Now) {
        let isPlanned = removals.contains(handle)
        let underWay = requests.count(of: .remove) == 0 ? [] : requests.sorted { $0.removals.contains(handle) }
        guard isPlanned || !underWay.isEmpty else { return }
        for (request, given) in underWay {
            requests.remove(request)
            putBack(given)
            if given.wasProbe { gates.abandonProbe(.remove, now: now) }
        }
        removals.removeAll { $0 == handle }
        busyRemovals[handle] = nil
        if !underWay.isEmpty { actions.append(.cancel(underWay.map(\.id))) }
        actions.append(.write(.forgetRemoval(handle, scope)))
    }

    /// Sends removals in batches, one batch at a time. After a failure of the server their gate holds them back; a removal
    /// that the server can't perform at the moment has a pause of its own.
    mutating func scheduleRemovals(now: Now) {
        guard !removals.isEmpty, mayBegin(.remove, now), isUnderWay(.remove) == 0 else { return }
        let batch = Array(
            removals.lazy.filter { [busyRemovals] in busyRemovals[$0]?.pause == nil }.prefix(traits.batch))
        if batch.isEmpty { return }
        removals.removeAll(where: batch.contains)
        actions.append(.remove(begin(.remove, [], removals: batch), batch))
    }

    /// Ends the pauses of removals that are over.
    mutating func passRemovalDeadlines(now: Now) {
        for handle in busyRemovals.keys { _ = busyRemovals[handle]?.passDeadline(now: now) }
    }

    // MARK: Answers

    mutating func errandDone(
        _ kind: RequestKind, _ id: RequestID, _ outcome: CommitOutcome = .done(url: nil), now: Now
    ) {
        guard let request = requests.remove(id) else { return succeed(kind) }
        // Nothing is sent about an upload without an id.
        if request.removals.isEmpty || request.removals.contains(where: { !$0.id.isEmpty }) {
            succeed(kind)
        } else {
            gates.skip(kind, wasProbe: request.wasProbe, now: now)
        }
        end(request, outcome)
    }

    mutating func errandFailed(_ id: RequestID, _ failure: RemoteFailure, now: Now) {
        // A cancelled request has no entry any more.
        guard let request = requests.remove(id) else { return }
        let kind = request.kind
        switch failure {
        case .permanent(let error):
            // A server that refuses to delete won't change its mind; the ids expire there.
            succeed(kind)
            return end(request, .refused(error))
        case .forgotten:
            succeed(kind)
            return end(request, .forgotten(Self.forgottenFiles))
        case .temporary(let error, _, _):
            let pause = close(kind, failure, request: request, now: now)
            fail(request, error, pause: pause, atMost: longestWait(after: failure, now: now), now: now)
        case .outOfStep(let error), .busyUpload(let error, _):
            let wanted = backoff.pause(askedBy: failure)
            succeed(kind)
            fail(request, error, pause: wanted, now: now)
            for handle in request.removals {
                busyRemovals[handle, default: Errand()].fail(error, pause: wanted, backoff: &backoff, now: now)
            }
        case .signedOut where id <= lastWithOldCredentials:
            if request.wasProbe { gates.abandonProbe(kind, now: now) }
        case .signedOut: close(kind, failure, request: request, now: now)
        case .cancelled where stopped: break
        case .cancelled, .source:
            close(kind, .cancelled, request: request, now: now)
            fail(request, Self.interrupted, now: now)
        }
        putBack(request)
    }

    private mutating func fail(
        _ request: Request, _ error: FileError, pause: Duration? = nil, atMost longest: Duration? = nil, now: Now
    ) {
        guard let source = request.source else { return }
        commits[source]?.errand.fail(error, pause: pause, atMost: longest, backoff: &backoff, now: now)
    }

    /// Lets the commit or the removals of a request go again later.
    mutating func putBack(_ request: Request) {
        removals += request.removals
        guard let source = request.source else { return }
        commits[source]?.errand.end()
        actions.append(.commitChanged(source))
    }

    private mutating func end(_ request: Request, _ outcome: CommitOutcome) {
        for handle in request.removals {
            busyRemovals[handle] = nil
            actions.append(.write(.forgetRemoval(handle, scope)))
        }
        guard let source = request.source, let commit = commits.removeValue(forKey: source)?.commit else { return }
        actions.append(.commitChanged(source))
        actions.append(.commitEnded(sourceID: source, revision: commit.revision, outcome))
    }
}

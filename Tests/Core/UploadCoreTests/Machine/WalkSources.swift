import UploadCore

// Sources and sessions on a walk: groups of files, commits, and the signed-in user.
extension Walk {
    static let sources = ["s", "t", "u"]

    mutating func userActsOnSources() {
        let source = random.pick(Self.sources)
        switch Int.random(in: 0..<7, using: &random) {
        case 0..<2: gatherSome(for: source)
        case 2..<4:
            lastRevision += 1
            posts[source] = post(source, revision: lastRevision)
            tell([.commit(post(source, revision: lastRevision), forgotten: random.oneIn(4) ? 2 : 0)])
        case 4:
            if random.oneIn(2) { return tell([.retryCommit(source)]) }
            posts[source] = nil
            tell([.withdrawCommit(source)])
        case 5: tell([.discard((0..<Int.random(in: 1...3, using: &random)).map { RemoteHandle(id: "old\($0)") })])
        default: signOut(random.oneIn(3))
        }
    }

    mutating func signOut(_ isOut: Bool) {
        signedOut = isOut
        tell([.setSignedOut(isOut ? .signedOut : nil)])
        if isOut, !begun.isEmpty { fail("requests under way while signed out") }
    }

    mutating func gatherSome(for source: String) {
        let keys = Self.contents.map(\.key).shuffled(using: &random)
        let some = Array(keys.prefix(Int.random(in: 0...6, using: &random)))
        gathered[source] = some
        let live = Set(groups.filter { decided.uploads[$0.key] != nil }.values)
        groups = groups.filter { $0.value != source }
        for key in some where groups[key].map(live.contains) != true { groups[key] = source }
        var events: [MachineEvent] = [.gather(source, some)]
        var joined: [RelativePath: Drop?] = [:]
        // The source's files arrive all at once.
        let free = Self.paths.filter { drops[$0].map { $0.outcome != nil } ?? true }
        for (path, key) in zip(free, some) where random.oneIn(4) == false {
            guard let content = Self.contents.first(where: { $0.key == key }) else { continue }
            forget(key)
            events.append(.join(path, content, paused: false))
            joined[path] = Drop(content: content, joinedLater: decided.uploads[key] != nil)
        }
        tell(events, drops: joined)
    }

    /// Returns the events about sources that the agent sends to the machine at start.
    mutating func eventsOfSources() -> [MachineEvent] {
        groups = [:]
        var events: [MachineEvent] = signedOut ? [.setSignedOut(.signedOut)] : []
        for (source, keys) in gathered.sorted(by: { $0.key < $1.key }) {
            for key in keys where groups[key].map({ isLive($0) }) != true { groups[key] = source }
            events.append(.gather(source, keys))
        }
        return events + posts.sorted { $0.key < $1.key }.map { .commit($0.value, forgotten: 0) }
    }

    private func isLive(_ source: String) -> Bool {
        groups.contains { $0.value == source && decided.uploads[$0.key] != nil }
    }

    mutating func commitEnded(_ source: String, _ revision: Int, _ outcome: CommitOutcome) {
        if posts[source]?.revision != revision { fail("a commit of \(source) ended that nobody wanted") }
        switch outcome {
        case .done:
            if !server.posts.contains(revision) { fail("revision \(revision) done and not on the server") }
            posts[source] = nil
        case .refused, .taken: posts[source] = nil
        case .forgotten: forgotten.insert(source)
        }
    }

    mutating func checkCommit(_ request: Begun) {
        guard let commit = request.commit else { return }
        if posts[commit.sourceID] != commit { fail("a commit of \(commit.sourceID) sent that nobody wants") }
        let others = begun.values.filter { $0.kind == .commit }
        if others.contains(where: { $0.commit?.sourceID == commit.sourceID }) { fail("two commits of one source") }
        if others.count >= limits.filesInFlight { fail("too many commits at once") }
    }

    /// Checks that a request holds uploads of one source or of none, and that a question about a source waits until
    /// all its uploads are complete.
    mutating func checkGroup(_ request: Begun) {
        guard request.keys.count > 1 else { return }
        let sources = Set(request.keys.map { groups[$0] })
        if sources.count > 1 { fail("\(request.kind) of uploads that don't belong together") }
        guard request.kind == .finish, case .some(.some(let source)) = sources.first else { return }
        for key in groups.filter({ $0.value == source }).keys where !request.keys.contains(key) {
            let isWanted = machine.waiters(of: key).contains { drops[$0]?.paused == false }
            guard isWanted, let path = machine.waiters(of: key).first, let view = machine.view(of: key, from: path)
            else {
                continue
            }
            if view.fragments.finished < view.fragments.total { fail("asked about while \(key) is not complete") }
        }
    }
}

import Testing
import UploadCore

/// A random walk: a machine, a ledger that lags behind, a server with faults, a user, and kills.
struct Walk: RandomWalk {
    /// The agent's record of a path.
    struct Drop: Equatable {
        var content: DropContent
        var paused = false
        var joinedLater = false
        var outcome: DropOutcome?
    }

    /// The actions of one call of the machine. None takes effect before its writes are durable.
    struct Batch {
        var actions: [MachineAction]
        var drops: [RelativePath: Drop?]
        var posts: [String: SourceCommit] = [:]
    }

    static let paths: [RelativePath] = (0..<10).map { RelativePath("p\($0)") ?? .root }
    static let contents =
        [1, 1, 2, 3, 5, 17, 20, 40].enumerated().map { content(UInt64($0.offset) + 1, fragments: $0.element) }
        + [1, 60_000, 200_000, 700_001, 9_000_001, 17_000_000].enumerated()
        .map { content(UInt64($0.offset) + 101, bytes: $0.element) }

    let traits: RemoteTraits
    /// How many waiting uploads the machine holds.
    let window: Int
    var random: WalkRandom
    var machine: UploadMachine
    var limits = UploadLimits(filesInFlight: 2, fragmentsInFlight: 3, retryInterval: .seconds(120))
    var now = Now(monotonic: MonotonicTime(nanoseconds: 1 << 40), wall: WallTime(milliseconds: 0))
    var server: WalkServer

    /// The drops as the agent sees them, and the durable ones.
    var drops: [RelativePath: Drop] = [:]
    var durableDrops: [RelativePath: Drop] = [:]
    var decided = FakeLedger()
    var ledger = FakeLedger()
    /// The commits for the server as the agent sees them, and the durable ones.
    var posts: [String: SourceCommit] = [:]
    var durablePosts: [String: SourceCommit] = [:]
    /// Sources with files that the server does not know.
    var forgotten: Set<String> = []
    var lastRevision = 0
    /// The contents of each source, and the source of each content.
    var gathered: [String: [ContentKey]] = [:]
    var groups: [ContentKey: String] = [:]
    var signedOut = false
    var allPaused = false
    var commits: [Batch] = []
    /// The requests the machine began, by its own records; and the requests really sent.
    var begun: [RequestID: Begun] = [:]
    var sent:
        [(request: Begun, names: [ContentKey: String], plans: [ContentKey: FragmentPlan], stated: Set<ContentKey>)] = []
    /// The paths that the agent hashes again.
    var settling: Set<RelativePath> = []
    /// Whether the ledger can't be read. Only while time passes: users' requests are refused then.
    var ledgerIsBroken = false
    var problem: String?

    init(traits: RemoteTraits, seed: UInt64, window: Int) {
        self.traits = traits
        self.window = window
        random = WalkRandom(seed: seed)
        machine = UploadMachine(limits: limits, traits: traits, scope: Bench.scope, seed: seed, window: window)
        server = WalkServer(traits: traits)
    }

    /// Takes one step.
    mutating func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<45: answerOne()
        case 45..<65: commitOne()
        case 65..<75: pass(.milliseconds(Int.random(in: 1...5000, using: &random)))
        case 75..<90: userActs()
        case 90..<95: userActsOnSources()
        case 95..<98: server.mood = random.oneIn(3) ? random.pick(WalkServer.Mood.allCases) : .fine
        case 98: if random.oneIn(4) { crash() }
        default: tell([random.oneIn(2) ? .credentialsChanged : .networkChanged])
        }
    }

    // MARK: The agent

    /// What the machine may ask.
    var stored: FakeStoredUploads {
        var waiters: [ContentKey: [RestoredWaiter]] = [:]
        for (path, drop) in waiting.sorted(by: { $0.key < $1.key }) {
            waiters[drop.content.key, default: []].append(
                RestoredWaiter(path: path, paused: drop.paused, joinedLater: drop.joinedLater))
        }
        return FakeStoredUploads(ledger: decided, waiters: waiters, isBroken: ledgerIsBroken)
    }

    /// The drops without an outcome.
    var waiting: [RelativePath: Drop] { drops.filter { $0.value.outcome == nil } }

    mutating func tell(_ events: [MachineEvent], drops changes: [RelativePath: Drop?] = [:]) {
        for event in events { strike(event) }
        for (path, drop) in changes { drops[path] = drop }
        let actions = machine.handle(events, now: now, stored: stored)
        var batch = Batch(actions: actions, drops: changes)
        check(actions, after: events)
        for action in actions {
            switch action {
            case .write(let write): decided.apply(write)
            case .ended(let path, _, let outcome, _):
                drops[path]?.outcome = outcome
                batch.drops[path] = drops[path]
            case .cancel(let ids): for id in ids { begun[id] = nil }
            case .takeAgain(let path, _): settling.insert(path)
            case .commitEnded(let source, let revision, let outcome): commitEnded(source, revision, outcome)
            default: if let request = Begun(action, at: now.monotonic) { begin(request) }
            }
        }
        batch.posts = posts
        commits.append(batch)
        checkRest()
        if let commit = forgotten.popFirst().flatMap({ posts[$0] }) { tell([.commit(commit, forgotten: 1)]) }
        if let path = settling.min() { join(path, random.pick(Self.contents)) }
    }

    private mutating func strike(_ event: MachineEvent) {
        switch event {
        case .registered(let id, let key, _, _), .existing(let id, let key, _, _), .resumed(let id, let key, _),
            .acknowledged(let id, let key, _, _, _), .finished(let id, let key, _), .failed(let id, let key, _):
            begun[id]?.keys.removeAll { $0 == key }
            if begun[id]?.keys.isEmpty == true { begun[id] = nil }
        case .removed(let id), .removalFailed(let id, _), .committed(let id, _), .commitFailed(let id, _):
            begun[id] = nil
        default: break
        }
    }

    private mutating func commitOne() {
        guard !commits.isEmpty else { return }
        let batch = commits.removeFirst()
        for write in batch.actions.writes { ledger.apply(write) }
        for (path, drop) in batch.drops { durableDrops[path] = drop }
        durablePosts = batch.posts
        for action in batch.actions {
            if case .cancel(let ids) = action { sent.removeAll { ids.contains($0.request.id) } }
            guard let request = Begun(action, at: now.monotonic) else { continue }
            let records = request.keys.compactMap { machine.record(of: $0) }
            let names = records.compactMap { record in record.handle.map { (record.key, $0.id) } }
            sent.append(
                (
                    request, Dictionary(uniqueKeysWithValues: names),
                    Dictionary(uniqueKeysWithValues: records.map { ($0.key, $0.plan) }),
                    Set(request.keys.filter { isStatedComplete($0) })
                ))
        }
    }

    private mutating func answerOne() {
        guard !sent.isEmpty else { return commitOne() }
        let index = Int.random(in: 0..<sent.count, using: &random)
        if sent[index].request.kind == .send, random.oneIn(3) { return passBytes(of: sent[index].request) }
        let (request, names, plans, stated) = sent.remove(at: index)
        let waiters = request.keys.first.map { Array(machine.waiters(of: $0)).sorted() } ?? []
        tell(server.take(request, names: names, plans: plans, stated: stated, waiters: waiters, random: &random))
    }

    /// Whether the agent has the receipt of tus for a complete upload.
    private func isStatedComplete(_ key: ContentKey) -> Bool {
        machine.receipts(of: key).values.contains(WalkServer.completeReceipt)
    }

    /// Makes the server forget a content, unless the agent has its receipt for the content, or may have it again after a
    /// kill.
    mutating func forget(_ key: ContentKey) {
        let hasReceipt = commits.contains { batch in
            batch.actions.writes.contains { write in
                if case .fragments(key, let page) = write { !page.receipts.isEmpty } else { false }
            }
        }
        if traits.inOrder, hasReceipt || !ledger.receipts(key).isEmpty { return }
        server.whole.remove(key)
    }

    private mutating func passBytes(of request: Begun) {
        let most = UInt64(traits.fragmentSize) + 1000
        tell([.passed(request.id, request.keys[0], bytes: UInt64.random(in: 0...most, using: &random))])
    }

    mutating func pass(_ duration: Duration) {
        now = Now(monotonic: now.monotonic + duration, wall: now.wall.advanced(by: duration))
        ledgerIsBroken = random.oneIn(20)
        tell([.tick])
        ledgerIsBroken = false
    }

    /// Kills the agent: decisions that are not yet durable are lost.
    private mutating func crash() {
        commits = []
        for flight in sent where random.oneIn(2) {
            // The request arrives although the agent is dead.
            _ = server.take(
                flight.request, names: flight.names, plans: flight.plans, stated: flight.stated, waiters: [],
                random: &random)
        }
        sent = []
        begun = [:]
        drops = durableDrops
        posts = durablePosts
        forgotten = []
        decided = ledger
        machine = UploadMachine(limits: limits, traits: traits, scope: Bench.scope, seed: random.next(), window: window)
        if let first = ledger.queue.first, let last = ledger.queue.last {
            machine.restoreBacklog(from: first, to: last)
        }
        let stored = stored
        for key in Set(waiting.values.filter(\.paused).map(\.content.key)).sorted() {
            guard let upload = try? stored.upload(of: key) else { continue }
            machine.restore(
                upload.record, acknowledged: upload.acknowledged, receipts: upload.receipts, waiters: upload.waiters,
                now: now)
        }
        machine.restoreRemovals(ledger.removals)
        // The agent hashes paths without an upload again.
        settling = Set(waiting.filter { ledger.uploads[$0.value.content.key] == nil }.keys)
        tell(eventsOfSources() + (allPaused ? [.setAllPaused(true), .tick] : [.tick]))
    }

    /// Commits every batch and answers every request.
    mutating func finishWhatIsUnderWay() {
        while !commits.isEmpty { commitOne() }
        if !sent.isEmpty { answerOne() }
    }

    // MARK: The user

    private mutating func userActs() {
        let path = random.pick(Self.paths)
        let waiting = drops[path].flatMap { $0.outcome == nil ? $0 : nil }
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<8: if waiting == nil || random.oneIn(6) { join(path, random.pick(Self.contents)) }
        case 8..<10: leave(path)
        case 10..<12: pause(path, true)
        case 12..<15: pause(path, false)
        case 15: rename(path, to: random.pick(Self.paths))
        case 16: if let waiting { tell([.first(waiting.content.key)]) }
        case 17: if let waiting { tell([.retry(waiting.content.key)]) }
        case 18: pauseAll(random.oneIn(3))
        default: changeLimits()
        }
    }

    private mutating func join(_ path: RelativePath, _ content: DropContent) {
        // Make the server forget some contents: otherwise it would soon have all of them.
        if random.oneIn(2) { forget(content.key) }
        var events: [MachineEvent] = []
        if let old = drops[path], old.outcome == nil { events.append(.leave(path, old.content.key)) }
        events.append(.join(path, content, paused: false))
        settling.remove(path)
        let joinedLater = decided.uploads[content.key] != nil
        tell(events, drops: [path: Drop(content: content, joinedLater: joinedLater)])
    }

    private mutating func leave(_ path: RelativePath) {
        guard let drop = drops[path], drop.outcome == nil else { return }
        tell([.leave(path, drop.content.key)], drops: [path: Drop?.none])
    }

    mutating func pause(_ path: RelativePath, _ paused: Bool) {
        guard var drop = drops[path], drop.outcome == nil else { return }
        drop.paused = paused
        tell([.setPaused(path, drop.content.key, paused)], drops: [path: drop])
    }

    private mutating func rename(_ path: RelativePath, to new: RelativePath) {
        guard let drop = drops[path], drop.outcome == nil, path != new else { return }
        var events: [MachineEvent] = []
        if let other = drops[new], other.outcome == nil { events.append(.leave(new, other.content.key)) }
        events.append(.rename(path, to: new, drop.content.key))
        tell(events, drops: [path: Drop?.none, new: drop])
    }

    mutating func pauseAll(_ paused: Bool) {
        allPaused = paused
        tell([.setAllPaused(paused)])
    }

    private mutating func changeLimits() {
        limits.filesInFlight = Int.random(in: 1...4, using: &random)
        limits.fragmentsInFlight = random.oneIn(3) ? nil : Int.random(in: 1...4, using: &random)
        tell([.setLimits(limits)])
    }
}

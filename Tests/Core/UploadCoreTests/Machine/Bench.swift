import Testing
import UploadCore

/// An upload machine on a virtual clock, with a record of all its decisions: a test reads as "event, expected
/// actions".
struct Bench {
    /// The end of a commit.
    struct Ending: Equatable {
        var source: String
        var revision: Int
        var outcome: CommitOutcome
    }

    static let scope = RemoteScope("filesection http://test me")

    var machine: UploadMachine
    var now = Now(monotonic: MonotonicTime(nanoseconds: 1_000_000_000_000), wall: WallTime(milliseconds: 0))
    var ledger = FakeLedger()
    /// Requests without an answer or cancellation, in the order they began.
    var underWay: [Begun] = []
    /// Every request ever begun.
    var begun: [Begun] = []
    var cancelled: [RequestID] = []
    var outcomes: [RelativePath: DropOutcome] = [:]
    /// The ended commits, by source and revision, in that order.
    var commits: [Ending] = []
    var trouble: [FileError?] = []
    /// What the machine said of refused files.
    var refusals: [FileError?] = []
    /// The highest number of fragments of one file, and of files, sent at the same time.
    var peak = (fragments: 0, files: 0)
    /// The waiting paths of each content, according to the agent's records.
    var waiters: [ContentKey: [RestoredWaiter]] = [:]
    var ledgerIsBroken = false
    let traits: RemoteTraits

    init(
        _ traits: RemoteTraits = .fileSection, files: Int = 5, fragments: Int? = 4, fileTimeout: Duration? = nil,
        seed: UInt64 = 1, window: Int = 1_000_000
    ) {
        self.traits = traits
        let limits = UploadLimits(
            filesInFlight: files, fragmentsInFlight: fragments, retryInterval: .seconds(120), fileTimeout: fileTimeout)
        machine = UploadMachine(limits: limits, traits: traits, scope: Self.scope, seed: seed, window: window)
    }

    /// Passes events to the machine and records its actions.
    @discardableResult
    mutating func tell(_ events: [MachineEvent]) -> [MachineAction] {
        for event in events { strike(event) }
        let actions = machine.handle(
            events, now: now, stored: FakeStoredUploads(ledger: ledger, waiters: waiters, isBroken: ledgerIsBroken))
        for action in actions { note(action) }
        let sends = underWay.filter { $0.kind == .send }
        let perFile = Dictionary(grouping: sends) { $0.keys[0] }
        peak.fragments = max(peak.fragments, perFile.values.map(\.count).max() ?? 0)
        peak.files = max(peak.files, perFile.count)
        return actions
    }

    @discardableResult
    mutating func tell(_ events: MachineEvent...) -> [MachineAction] { tell(events) }

    private mutating func note(_ action: MachineAction) {
        switch action {
        case .write(let write): ledger.apply(write)
        case .cancel(let ids):
            cancelled += ids
            underWay.removeAll { ids.contains($0.id) }
        case .ended(let path, _, let outcome, _): outcomes[path] = outcome
        case .commitEnded(let source, let revision, let outcome):
            commits.append(Ending(source: source, revision: revision, outcome: outcome))
        case .serverTrouble(let error): trouble.append(error)
        case .refusal(let error): refusals.append(error)
        default: break
        }
        guard let request = Begun(action, at: now.monotonic) else { return }
        underWay.append(request)
        begun.append(request)
    }

    /// Removes a request from the list if the event answers it.
    private mutating func strike(_ event: MachineEvent) {
        let answered: (id: RequestID, key: ContentKey?)
        switch event {
        case .registered(let id, let key, _, _), .existing(let id, let key, _, _), .resumed(let id, let key, _),
            .acknowledged(let id, let key, _, _, _), .finished(let id, let key, _), .failed(let id, let key, _):
            answered = (id, key)
        case .removed(let id), .removalFailed(let id, _), .committed(let id, _), .commitFailed(let id, _):
            answered = (id, nil)
        default: return
        }
        guard let index = underWay.firstIndex(where: { $0.id == answered.id }) else { return }
        underWay[index].keys.removeAll { $0 == answered.key }
        if underWay[index].keys.isEmpty { underWay.remove(at: index) }
    }

    /// Answers the oldest request of a kind.
    @discardableResult
    mutating func answer(
        _ kind: Begun.Kind, _ reply: Reply = .success, sourceLocation: SourceLocation = #_sourceLocation
    ) -> [MachineAction] {
        guard let request = underWay.first(where: { $0.kind == kind }) else {
            Issue.record("no request to \(kind) is under way", sourceLocation: sourceLocation)
            return []
        }
        return tell(reply.events(for: request))
    }

    /// Advances the clock, with a tick at every deadline on the way.
    @discardableResult
    mutating func pass(_ duration: Duration) -> [MachineAction] {
        let end = now.monotonic + duration
        var actions: [MachineAction] = []
        while let next = machine.nextDeadline(after: now.monotonic), next <= end {
            jump(to: max(next, now.monotonic + .milliseconds(1)))
            actions += tell(.tick)
        }
        jump(to: max(end, now.monotonic))
        return actions + tell(.tick)
    }

    private mutating func jump(to time: MonotonicTime) {
        now.wall = now.wall.advanced(by: time - now.monotonic)
        now.monotonic = time
    }

    /// Answers every request after 10 ms, until no request and no deadline is left or the time is over.
    mutating func run(for duration: Duration = .seconds(3600), _ reply: (Begun) -> Reply = { _ in .success }) {
        let end = now.monotonic + duration
        let most = begun.count + 200_000
        while now.monotonic < end, begun.count < most {
            if underWay.isEmpty {
                guard let next = machine.nextDeadline(after: now.monotonic), next <= end else { return }
                jump(to: max(next, now.monotonic + .milliseconds(1)))
                tell(.tick)
            } else {
                jump(to: now.monotonic + .milliseconds(10))
                tell(underWay.flatMap { reply($0).events(for: $0) })
            }
        }
    }

    func state(_ key: ContentKey = content(1).key, _ path: RelativePath = "a") -> FileState? {
        machine.view(of: key, from: path)?.state
    }

    func view(_ key: ContentKey = content(1).key, _ path: RelativePath = "a") -> UploadView? {
        machine.view(of: key, from: path)
    }

    /// Returns the numbers of the contents in each request of a kind, in the order the requests began.
    func batches(_ kind: Begun.Kind) -> [[UInt64]] { begun.filter { $0.kind == kind }.map { $0.keys.map(\.high) } }

    /// The kinds of the requests under way.
    var kinds: [Begun.Kind] { underWay.map(\.kind) }

    /// Returns the bench after a kill and a restart: only durable writes survive.
    func restarted(_ waiters: [ContentKey: [RestoredWaiter]]) -> Bench {
        var bench = Bench(traits)
        bench.machine = UploadMachine(
            limits: UploadLimits(filesInFlight: 5, fragmentsInFlight: 4, retryInterval: .seconds(120)), traits: traits,
            scope: Self.scope, seed: 2, window: 1_000_000)
        bench.ledger = ledger
        bench.now = now
        for record in ledger.uploads.values.sorted(by: { $0.order < $1.order }) {
            bench.machine.restore(
                record, acknowledged: ledger.acknowledged(record.key), receipts: ledger.receipts(record.key),
                waiters: waiters[record.key] ?? [], now: now)
        }
        bench.machine.restoreRemovals(ledger.removals)
        return bench
    }
}

extension Array where Element == MachineAction {
    var writes: [LedgerWrite] {
        compactMap { action in
            if case .write(let write) = action { write } else { nil }
        }
    }

    var kinds: [Begun.Kind] {
        compactMap { Begun($0, at: MonotonicTime(nanoseconds: 0))?.kind }
    }
}

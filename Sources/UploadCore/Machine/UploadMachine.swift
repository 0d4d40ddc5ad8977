/// A path that waited for an upload when the agent ended.
public struct RestoredWaiter: Equatable, Sendable {
    /// Where the file is.
    public var path: RelativePath
    /// Whether the user paused it.
    public var paused: Bool
    /// Whether it came when the upload was there already.
    public var joinedLater: Bool

    /// Describes a waiting path.
    public init(path: RelativePath, paused: Bool, joinedLater: Bool) {
        self.path = path
        self.paused = paused
        self.joinedLater = joinedLater
    }
}

/// Everything that is decided about uploads: events in, actions out.
///
/// A plain value without I/O, clock or randomness: the same events at the same times always give the same actions.
/// One content is one upload, whoever waits for it; slots, order, retries and backoff are all decided here. Every
/// `write` among the actions must be durable before any action that comes with it begins; a fragment's slot is given
/// to the next one only in the very actions that record its acknowledgement, so a crash repeats no more than what was
/// in flight.
public struct UploadMachine: Sendable {
    /// A request that was handed out and not yet answered for all its uploads.
    struct Request: Equatable, Sendable {
        var kind: RequestKind
        /// The uploads it was not yet answered for.
        var keys: Set<ContentKey>
        var fragment: Int?
        var wasProbe: Bool
        /// It was about several uploads; a refusal may be about any of them.
        var wasBatch: Bool
        /// Ids to be deleted (`remove` only).
        var removals: [String] = []
        /// The source that the server is told of (`commit` only).
        var source: String?
    }

    /// An upload's place in a queue; stale once the upload's order or phase is another.
    struct Place: Comparable, Sendable {
        var order: Int64
        var key: ContentKey
        static func < (left: Place, right: Place) -> Bool {
            (left.order, left.key) < (right.order, right.key)
        }
    }

    /// Something to look at when its time has come; stale once the upload's phase is another.
    struct Deadline: Comparable, Sendable {
        var at: MonotonicTime
        var key: ContentKey
        static func < (left: Deadline, right: Deadline) -> Bool {
            (left.at, left.key) < (right.at, right.key)
        }
    }

    /// How many uploads are registered ahead of the slots, so that small files go in batches.
    static let lookahead = 50
    /// Fragments a large upload sends before it yields its slot to waiting small ones, and the other way round.
    static let turnLength = 64
    /// A server that answered within `memoryOfAnswer` and is away now is asked at least this often.
    static let absencePause = Duration.seconds(15)
    static let memoryOfAnswer = Duration.seconds(3600)
    /// How often the server may fail to assemble unchanged bytes.
    static let assemblyAttempts = 3

    var limits: UploadLimits
    let traits: RemoteTraits
    let scope: RemoteScope
    var backoff: Backoff
    /// How many fragments the link carries at once.
    var pace: Pace
    var gates = Gates()
    var uploads: [ContentKey: Upload] = [:]
    var requests: [RequestID: Request] = [:]
    var unregistered = PriorityQueue<Place>()
    var readySmall = PriorityQueue<Place>()
    var readyLarge = PriorityQueue<Place>()
    var deadlines = PriorityQueue<Deadline>()
    var timeouts = PriorityQueue<Deadline>()
    /// Complete uploads that the server may be asked about now.
    var dueForQuestion = PriorityQueue<Place>()
    /// Uploads that hold a slot, in the order they got it.
    var active: [ContentKey] = []
    /// Uploads that left their slot while fragments were on their way: the slot is free once those are answered.
    var lingering: Set<ContentKey> = []
    /// Whether the next free slot is for a small upload, or for a large one, because one of the others yielded it.
    var slotIsForSmall: Bool?
    /// How many uploads have an id and no slot yet.
    var readyCount = 0
    /// Ids to be deleted on the server.
    var removals: [String] = []
    var groups = UploadGroups()
    /// Revisions that the server is to be told of, by their sources' ids.
    var commits: [String: PendingCommit] = [:]
    /// Why nothing is sent, not even to probe: the user signed out. Nil while signed in.
    public internal(set) var signedOut: FileError?
    var allPaused = false
    var stopped = false
    var lastRequest: RequestID = 0
    /// Requests up to this one went out with older credentials: that those were refused means nothing any more.
    var lastWithOldCredentials: RequestID = 0
    /// When events were last taken in.
    var handledAt = MonotonicTime(nanoseconds: 0)
    var lastOrder: Int64 = 0
    var firstOrder: Int64 = 0
    var actions: [MachineAction] = []

    /// An idle machine.
    ///
    /// - Parameters:
    ///   - limits: how much may be under way at once.
    ///   - traits: what the remote's protocol can do.
    ///   - scope: the server and account; uploads of others are not restored.
    ///   - seed: of the backoff's jitter.
    public init(limits: UploadLimits, traits: RemoteTraits, scope: RemoteScope, seed: UInt64) {
        self.limits = limits
        self.traits = traits
        self.scope = scope
        pace = Pace(limits)
        backoff = Backoff(ceiling: limits.retryInterval, seed: seed)
    }

    /// Puts back an upload as the ledger holds it; `handle` then goes on with it.
    ///
    /// - Parameters:
    ///   - record: the stored upload; ignored when it belongs to another server or account.
    ///   - acknowledged: its fragment states.
    ///   - receipts: what the server gave for them.
    ///   - waiters: the paths that wait for it; without any it is not put back.
    ///   - now: the clocks.
    public mutating func restore(
        _ record: UploadRecord, acknowledged: FragmentSet, receipts: [Int: String], waiters: [RestoredWaiter], now: Now
    ) {
        guard record.scope == scope, uploads[record.key] == nil, !waiters.isEmpty
        else { return }
        var upload = Upload(
            record: record, phase: .unregistered, waiters: [:], lastProgress: now.monotonic)
        for waiter in waiters {
            upload.waiters[waiter.path] = .init(paused: waiter.paused, joinedLater: waiter.joinedLater)
        }
        upload.findFirst()
        upload.acknowledged = acknowledged
        upload.receipts = receipts
        upload.started = acknowledged.count > 0
        upload.mustResume = traits.asksBeforeResuming && record.remoteID != nil
        lastOrder = max(lastOrder, record.order)
        firstOrder = min(firstOrder, record.order)
        uploads[record.key] = upload
        rest(record.key, now: now)
        watchTimeout(record.key)
    }

    /// Puts back ids that were to be deleted on the server.
    public mutating func restoreRemovals(_ ids: [String]) {
        removals.append(contentsOf: ids)
    }

    /// Takes events in and says what is to be done.
    ///
    /// - Parameters:
    ///   - events: what happened, in order.
    ///   - now: the clocks.
    /// - Returns: writes first, then everything else, each group in the order it was decided.
    public mutating func handle(_ events: [MachineEvent], now: Now) -> [MachineAction] {
        let oldTrouble = gates.trouble?.reason
        handledAt = now.monotonic
        for event in events { take(event, now: now) }
        passDeadlines(now: now)
        schedule(now: now)
        if gates.trouble?.reason != oldTrouble {
            actions.append(.serverTrouble(gates.trouble?.error))
            actions.append(.allChanged)
        }
        defer { actions.removeAll(keepingCapacity: true) }
        let isWrite = { (action: MachineAction) in if case .write = action { true } else { false } }
        return actions.filter(isWrite) + actions.filter { !isWrite($0) }
    }

    /// The next moment at which `tick` has something to do; nil when only events can bring anything.
    public func nextDeadline(after now: MonotonicTime) -> MonotonicTime? {
        if stopped || signedOut != nil { return nil }
        let timeout = limits.fileTimeout == nil || allPaused ? nil : timeouts.first?.at
        // A gate's time that passed since events were last taken in has not been made use of yet.
        let gate = gates.nextDeadline(after: min(now, handledAt))
        let commit = commits.values.compactMap(\.deadline).min()
        return [gate, deadlines.first?.at, timeout, commit].compactMap(\.self).min()
    }

    private mutating func take(_ event: MachineEvent, now: Now) {
        switch event {
        case .join(let path, let content, let paused): join(path, content, paused: paused, now: now)
        case .verify(let path, let content, let remote, let paused):
            verify(path, content, remote, paused: paused, now: now)
        case .leave(let path, let key): leave(path, key, now: now)
        case .rename(let path, let new, let key): rename(path, to: new, key, now: now)
        case .setPaused(let path, let key, let paused): setPaused(path, key, paused, now: now)
        case .setAllPaused(let paused): setAllPaused(paused, now: now)
        case .first(let key): moveFirst(key)
        case .retry(let key): retry(key, now: now)
        case .registered(let id, let key, let remoteID, let point):
            registered(id, key, remoteID: remoteID, point, now: now)
        case .existing(let id, let key, let remote): existing(id, key, remote, now: now)
        case .resumed(let id, let key, let point): resumed(id, key, point, now: now)
        case .acknowledged(let id, let key, let fragment, let receipt, let took):
            acknowledged(id, key, fragment, receipt: receipt, took: took, now: now)
        case .finished(let id, let key, let outcome): finished(id, key, outcome, now: now)
        case .removed(let id): removed(id)
        case .failed(let id, let key, let failure): failed(id, key, failure, now: now)
        case .removalFailed(let id, let failure): removalFailed(id, failure, now: now)
        case .gather(let source, let keys): gather(source, keys)
        case .commit(let commit, let forgotten): self.commit(commit, forgotten: forgotten, now: now)
        case .withdrawCommit(let source): withdrawCommit(source, now: now)
        case .retryCommit(let source): retryCommit(source, now: now)
        case .committed(let id, let url): committed(id, url: url)
        case .commitFailed(let id, let failure): commitFailed(id, failure, now: now)
        case .discard(let ids): discard(ids)
        case .setSignedOut(let error): setSignedOut(error, now: now)
        case .tick: break
        case .credentialsChanged: credentialsChanged(now: now)
        case .networkChanged: hurry(now: now)
        case .setLimits(let limits): setLimits(limits, now: now)
        case .stop: stop()
        }
    }

    private mutating func setLimits(_ limits: UploadLimits, now: Now) {
        self.limits = limits
        backoff.ceiling = limits.retryInterval
        for key in uploads.keys {
            watchTimeout(key)
        }
        pace.setLimits(limits)
    }

    private mutating func stop() {
        stopped = true
        actions.append(.cancel(requests.keys.sorted()))
    }

    private mutating func credentialsChanged(now: Now) {
        lastWithOldCredentials = lastRequest
        if gates.server.reason == .signedOut {
            for key in uploads.keys { uploads[key]?.lastProgress = now.monotonic }
        }
        hurry(now: now)
    }

    mutating func hurry(now: Now) {
        gates.hurry(now: now)
        hurryCommits()
        for key in uploads.keys.sorted() {
            if case .waiting = uploads[key]?.phase {
                uploads[key]?.failures = 0
                rest(key, now: now)
            }
        }
    }
}

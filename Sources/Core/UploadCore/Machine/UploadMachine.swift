/// A path that waited for an upload when the agent ended.
public struct RestoredWaiter: Equatable, Sendable {
    /// The file's path.
    public var path: RelativePath
    /// Whether the user paused the path.
    public var paused: Bool
    /// Whether the path joined an existing upload.
    public var joinedLater: Bool

    /// Creates a description of a waiting path.
    public init(path: RelativePath, paused: Bool, joinedLater: Bool) {
        self.path = path
        self.paused = paused
        self.joinedLater = joinedLater
    }
}

/// Makes all decisions about uploads: slots, order, retries and backoff. Events in, actions out.
///
/// A plain value without I/O, clock or randomness: the same events at the same times always give the same actions. It
/// holds a window of the queue and asks `StoredUploads` for the rest. A
/// content has one upload, however many paths wait for it. Every `write` must be durable before any other action of the
/// same list begins. A fragment's slot becomes free only in the list that records its acknowledgement, so a crash
/// repeats only the fragments in flight.
public struct UploadMachine: Sendable {
    /// A request in progress. Some of its uploads have no answer yet.
    struct Request: Equatable, Sendable {
        var kind: RequestKind
        /// The uploads without an answer so far.
        var keys: Set<ContentKey>
        var fragment: Int?
        /// When the request began.
        var begun: MonotonicTime
        /// The bytes of the fragment that the server had before the request.
        var skip: UInt32 = 0
        /// The last point of a long fragment at which its rate was measured.
        var mark: Mark
        var wasProbe: Bool
        /// Whether the request was about several uploads. A refusal may then concern any of them.
        var wasBatch: Bool
        /// The ids to delete (`remove` only).
        var removals: [RemoteHandle] = []
        /// The source to commit (`commit` only).
        var source: String?

        /// What the request is for; nil if it is for several uploads.
        var asker: Asker? {
            source.map { .commit($0) } ?? (wasBatch || keys.count != 1 ? nil : keys.first.map { .upload($0) })
        }
    }

    /// How far a fragment was at a time.
    struct Mark: Equatable, Sendable {
        var at: MonotonicTime
        /// The bytes of the fragment that the other end of the connection had.
        var bytes: UInt64
    }

    /// A number of small and of large uploads.
    struct ClassCounts: Equatable, Sendable {
        private var small = 0
        private var large = 0

        var total: Int { small + large }

        subscript(isSmall isSmall: Bool) -> Int {
            get { isSmall ? small : large }
            set { if isSmall { small = newValue } else { large = newValue } }
        }
    }

    /// A time at which to check an upload. Stale once the upload's phase changes.
    struct Deadline: Comparable, Sendable {
        var at: MonotonicTime
        var key: ContentKey
        static func < (left: Deadline, right: Deadline) -> Bool {
            (left.at, left.key) < (right.at, right.key)
        }
    }

    /// The number of bytes of a probe that show that the server is back.
    static let provingSize: UInt64 = 1 << 20
    /// The number of bytes a large upload sends before it yields its slot to waiting small ones, and vice versa.
    static let turnSize: UInt64 = 32 << 20
    /// A missing server that answered within `memoryOfAnswer` gets a request at least this often.
    static let absencePause = Duration.seconds(15)
    static let memoryOfAnswer = Duration.seconds(3600)
    /// How often the server may fail to assemble the same bytes.
    static let assemblyAttempts = 3

    var limits: UploadLimits
    /// How many uploads that wait for their turn the machine holds, roughly.
    let window: Int
    let traits: RemoteTraits
    /// The server and account.
    package let scope: RemoteScope
    var backoff: Backoff
    /// Learns how many fragments the link carries at once.
    var pace: Pace
    var gates = Gates()
    var uploads: [ContentKey: Upload] = [:]
    var requests = RequestTable()
    var unregisteredSmall = PriorityQueue<QueuePlace>()
    var unregisteredLarge = PriorityQueue<QueuePlace>()
    var readySmall = PriorityQueue<QueuePlace>()
    var readyLarge = PriorityQueue<QueuePlace>()
    var deadlines = PriorityQueue<Deadline>()
    var timeouts = PriorityQueue<Deadline>()
    /// Complete uploads to ask the server about now.
    var dueForQuestion = PriorityQueue<QueuePlace>()
    /// Uploads with a slot, in the order they got it.
    var active = SlotTable()
    /// Uploads that left their slot with fragments in flight. The slot becomes free once these are answered.
    var lingering = SlotTable()
    /// Whether the next free slot is for a small or a large upload, because an upload of the other class yielded it.
    var slotIsForSmall: Bool?
    /// Whether a broken connection has cost an upload many bytes in this run. Some servers, and proxies that buffer
    /// requests, drop all that arrived of an incomplete request. Then requests are short.
    var losesInterruptedBytes = false
    /// The numbers of uploads that have an id, or ask for one, and have no slot.
    var upcoming = ClassCounts()
    /// The numbers of uploads that wait for their registration.
    var unregistered = ClassCounts()
    /// The number of waiting uploads above which the machine leaves some to the ledger.
    var shrinkAbove: Int
    /// The place behind which uploads may be only in the ledger; nil if the machine holds all.
    var backlog: QueuePlace?
    /// When to read the ledger again after a failed read.
    var backlogRetry: MonotonicTime?
    /// Whose turn it is to begin requests.
    var turn = Turn.all
    /// The uploads that an answer refused, perhaps because of their content.
    var refusals: Set<ContentKey> = []
    /// The upload that the machine reported as refused.
    var reportedRefusal: ContentKey?
    /// Ids to delete on the server.
    var removals: [RemoteHandle] = []
    /// The removals that the server could not perform, although it is not in trouble.
    var busyRemovals: [RemoteHandle: Errand] = [:]
    var groups = UploadGroups()
    /// Pending commits by source id.
    var commits: [String: PendingCommit] = [:]
    /// Why the machine sends nothing, not even a probe: the user signed out. Nil while signed in.
    public internal(set) var signedOut: FileError?
    var allPaused = false
    var stopped = false
    var lastRequest: RequestID = 0
    /// The last request sent with older credentials. Refusals of requests up to this one are ignored.
    var lastWithOldCredentials: RequestID = 0
    /// The time of the last `handle`.
    var handledAt = MonotonicTime(nanoseconds: 0)
    var lastOrder: Int64 = 0
    var firstOrder: Int64 = 0
    var actions: [MachineAction] = []
    /// The ledger, during `handle`. `unsafe`: set only until then, and no copy of the machine leaves before.
    nonisolated(unsafe) var stored: any StoredUploads = NoStoredUploads()
    /// Uploads that ended during this `handle`. The ledger may still have them.
    var forgotten: Set<ContentKey> = []
    /// Uploads that an event of this `handle` brought in. Their waiters are those after the last event.
    var justRead: Set<ContentKey> = []

    /// Creates an idle machine.
    ///
    /// - Parameters:
    ///   - limits: limits for concurrency and waiting.
    ///   - traits: the properties of the remote's protocol.
    ///   - scope: the server and account. Uploads of other scopes are not restored.
    ///   - seed: seeds the backoff's jitter.
    ///   - window: how many waiting uploads to hold, roughly; at least 1. The others are read from the ledger when
    ///     their turn comes.
    public init(limits: UploadLimits, traits: RemoteTraits, scope: RemoteScope, seed: UInt64, window: Int) {
        self.limits = limits
        self.window = max(1, window)
        shrinkAbove = self.window + max(1, self.window / 4)
        self.traits = traits
        self.scope = scope
        pace = Pace(limits)
        backoff = Backoff(ceiling: limits.retryInterval, seed: seed)
    }

    /// Restores an upload from the ledger. The next `handle` continues it.
    ///
    /// - Parameters:
    ///   - record: the stored upload; ignored if it belongs to another server or account.
    ///   - acknowledged: the upload's fragment states.
    ///   - receipts: the server's receipts for fragments.
    ///   - waiters: the paths that wait for the upload. Without waiters the upload is not restored.
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
        let mayAsk = traits.asksBeforeResuming || traits.asksAfterRestart && !upload.isComplete
        upload.mustResume = mayAsk && record.handle != nil
        lastOrder = max(lastOrder, record.order)
        firstOrder = min(firstOrder, record.order)
        insert(upload)
        rest(record.key, now: now)
        watchTimeout(record.key)
    }

    /// Restores the uploads to delete on the server.
    public mutating func restoreRemovals(_ handles: [RemoteHandle]) {
        removals.append(contentsOf: handles)
    }

    /// Handles events.
    ///
    /// - Parameters:
    ///   - events: the events, in order.
    ///   - now: the clocks.
    ///   - stored: the uploads in the ledger.
    /// - Returns: the actions to perform: writes first, then all others, each group in the order of the decisions.
    public mutating func handle(
        _ events: [MachineEvent], now: Now, stored: any StoredUploads = NoStoredUploads()
    ) -> [MachineAction] {
        let oldTrouble = gates.trouble?.reason
        handledAt = now.monotonic
        self.stored = stored
        // Releases the objects behind the ledger before they change.
        defer { self.stored = NoStoredUploads() }
        for event in events {
            if bringIn(for: event, now: now) { take(event, now: now) }
        }
        refill(now: now)
        passDeadlines(now: now)
        schedule(now: now)
        shrink()
        uploads.shrinkIfEmpty()
        forgotten = []
        justRead = []
        if !refusals.isEmpty || reportedRefusal != nil { reportRefusal() }
        if gates.trouble?.reason != oldTrouble {
            actions.append(.serverTrouble(gates.trouble?.error))
            actions.append(.allChanged)
        }
        defer { actions.removeAll(keepingCapacity: true) }
        var ordered: [MachineAction] = []
        ordered.reserveCapacity(actions.count)
        for action in actions { if case .write = action { ordered.append(action) } }
        if ordered.count == actions.count { return ordered }
        for action in actions { if case .write = action {} else { ordered.append(action) } }
        return ordered
    }

    /// Returns when the next `tick` is due; nil if only other events can cause actions.
    public func nextDeadline(after now: MonotonicTime) -> MonotonicTime? {
        if stopped || signedOut != nil { return nil }
        let timeout = limits.fileTimeout == nil || allPaused ? nil : timeouts.first?.at
        // Includes gates whose time passed after the last `handle`, since no event has used them yet.
        let gate = gates.nextDeadline(after: min(now, handledAt))
        let commit = commits.values.compactMap(\.errand.pause?.until).min()
        let removal = busyRemovals.values.compactMap(\.pause?.until).min()
        return [gate, deadlines.first?.at, timeout, commit, removal, backlogRetry].compactMap(\.self).min()
    }

    private mutating func take(_ event: MachineEvent, now: Now) {
        switch event {
        case .join(let path, let content, let paused): join(path, content, paused: paused, now: now)
        case .verify(let path, let content, let remote, let paused):
            verify(path, content, remote, paused: paused, now: now)
        case .leave(let path, let key): if !waitsAgain(path, for: key) { leave(path, key, now: now) }
        case .rename(let path, let new, let key): rename(path, to: new, key, now: now)
        case .setPaused(let path, let key, let paused): setPaused(path, key, paused, now: now)
        case .setAllPaused(let paused): setAllPaused(paused, now: now)
        case .first(let key): moveFirst(key)
        case .retry(let key): retry(key, now: now)
        case .registered(let id, let key, let handle, let point):
            registered(id, key, handle, point, now: now)
        case .existing(let id, let key, let remote, let byMD5Alone):
            existing(id, key, remote, byMD5Alone: byMD5Alone, now: now)
        case .resumed(let id, let key, let point): resumed(id, key, point, now: now)
        case .passed(let id, let key, let bytes): passed(id, key, bytes, now: now)
        case .acknowledged(let id, let key, let fragment, let receipt, let took):
            acknowledged(id, key, fragment, receipt: receipt, took: took, now: now)
        case .finished(let id, let key, let outcome): finished(id, key, outcome, now: now)
        case .removed(let id): errandDone(.remove, id, now: now)
        case .failed(let id, let key, let failure): failed(id, key, failure, now: now)
        case .gather(let source, let keys): gather(source, keys)
        case .commit(let commit, let forgotten): self.commit(commit, forgotten: forgotten, now: now)
        case .withdrawCommit(let source): withdrawCommit(source, now: now)
        case .retryCommit(let source): retryCommit(source, now: now)
        case .committed(let id, let outcome): errandDone(.commit, id, outcome, now: now)
        case .removalFailed(let id, let failure), .commitFailed(let id, let failure):
            errandFailed(id, failure, now: now)
        case .discard(let handles): discard(handles)
        case .setSignedOut(let error): setSignedOut(error, now: now)
        case .tick: break
        case .credentialsChanged: credentialsChanged(now: now)
        case .networkChanged:
            pace.networkChanged()
            hurry(now: now)
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
        actions.append(.cancel(requests.ids.sorted()))
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
        busyRemovals = [:]
        for key in uploads.keys.sorted() {
            if case .waiting = uploads[key]?.phase {
                uploads[key]?.forgetFailures()
                rest(key, now: now)
            }
        }
    }
}

/// Lets requests through or holds them back.
///
/// A failure that is not one file's fault closes the gate for all files, so an unavailable server gets one request per
/// backoff, not one per file. After the pause the gate lets a single request through as a probe. If the probe succeeds,
/// the gate opens; if it fails, the gate closes for longer. While all failures are those of a single upload, an upload
/// that did not fail yet may be the probe earlier: the cause may be in the first one.
struct Gate: Equatable, Sendable {
    /// Why the gate is closed.
    enum Reason: Equatable, Sendable {
        /// The server is unreachable or in trouble.
        case unreachable
        /// The server refused the credentials.
        case signedOut
    }

    /// How long to hold back requests after a failure.
    struct Pause {
        /// Whether the server asked for the pause, so that no upload may be tried earlier.
        var isForAll = false
        /// Returns the length after a number of failures in a row.
        var length: (Int) -> Duration
    }

    enum State: Equatable, Sendable {
        case open
        case closed(until: MonotonicTime)
        case probing
    }

    private(set) var state = State.open
    private(set) var reason = Reason.unreachable
    private(set) var error: FileError?
    private(set) var nextAttemptAt: WallTime?
    /// Consecutive failures of requests that the gate let through.
    private(set) var failures = 0
    /// Whose requests failed.
    private var origin = Origin.nobody
    /// When an upload without failures may be the probe; nil if it must wait like all others.
    private var earliestProbe: MonotonicTime?

    private enum Origin: Equatable, Sendable {
        case nobody, several
        case one(Asker)

        mutating func add(_ asker: Asker?) {
            switch (self, asker) {
            case (.nobody, let asker?): self = .one(asker)
            case (.one(let first), let asker?) where first == asker: break
            default: self = .several
            }
        }
    }

    var isOpen: Bool { state == .open }

    /// When the gate lets a probe through; nil unless closed.
    var deadline: MonotonicTime? {
        if case .closed(let until) = state { until } else { nil }
    }

    /// When the gate lets an upload through as a probe that did not fail yet; nil unless closed.
    var earliestDeadline: MonotonicTime? { deadline.map { min($0, earliestProbe ?? $0) } }

    /// Returns how many requests may begin now; nil for no limit.
    ///
    /// - Parameter isFirstTry: whether they are for uploads that did not fail yet.
    func allowance(at now: MonotonicTime, isFirstTry: Bool) -> Int? {
        switch state {
        case .open: return nil
        case .closed(let until): return ((isFirstTry ? earliestDeadline : nil) ?? until) <= now ? 1 : 0
        case .probing: return 0
        }
    }

    /// Records the start of a request.
    mutating func begin() {
        if case .closed = state { state = .probing }
    }

    /// Records an answer of the server, regardless of its meaning for the file.
    mutating func succeed() {
        // Requests sent before the refusal of the credentials may still get answers, which say nothing about the next
        // request.
        if reason == .signedOut, case .closed = state { return }
        if state != .open || failures > 0 { self = Gate() }
    }

    /// Opens the gate for other requests before the probe is answered, because the server takes the bytes of the probe.
    /// If the probe fails nevertheless, the next pause is longer.
    mutating func openEarly() {
        if state == .probing, reason == .unreachable { state = .open }
    }

    /// Records a failure that is not the file's fault.
    ///
    /// - Parameters:
    ///   - asker: whose request failed; nil if it was for several.
    ///   - wasProbe: whether the request was the probe. A straggler that began before the gate closed does not lengthen the
    ///     pause.
    mutating func fail(
        _ reason: Reason, of asker: Asker?, error: FileError, pause: Pause, wasProbe: Bool, now: Now
    ) {
        origin.add(asker)
        if origin == .several { earliestProbe = nil }
        if case .closed = state, self.reason == reason { return }
        if state == .probing && !wasProbe && self.reason == reason { return }
        failures = self.reason == reason ? failures + 1 : 1
        self.reason = reason
        self.error = error
        let duration = pause.length(failures)
        let mayConcernOne = origin != .several && reason == .unreachable && !pause.isForAll
        earliestProbe = mayConcernOne ? now.monotonic + Backoff.first : nil
        state = .closed(until: now.monotonic + duration)
        nextAttemptAt = now.wall.advanced(by: duration)
    }

    /// Records that the probe was abandoned without an answer. The next request becomes the probe.
    mutating func abandonProbe(now: Now) {
        if state == .probing { state = .closed(until: now.monotonic) }
    }

    /// Lets the next request probe at once, because a new network or new credentials may have removed the cause.
    ///
    /// Does not wait for a probe in progress, which may hang in the old network or carry the old credentials. The
    /// pauses start over as well, since a new network may need a moment before it works.
    mutating func hurry(now: Now) {
        (failures, origin, earliestProbe) = (0, .nobody, nil)
        if isOpen { return }
        state = .closed(until: now.monotonic)
        nextAttemptAt = now.wall
    }
}

/// What a request is for.
enum Asker: Equatable, Sendable {
    case upload(ContentKey)
    /// The commit of the source with this id.
    case commit(String)
}

/// The kinds of request to a remote.
enum RequestKind: Int, CaseIterable, Sendable {
    case register, resume, send, finish, remove, commit
}

/// When requests of one kind last succeeded: for the last upload, and for the last other one.
private struct Passes: Equatable, Sendable {
    private var last: (key: ContentKey, at: MonotonicTime)?
    private var other: MonotonicTime?

    mutating func record(_ key: ContentKey, at now: MonotonicTime) {
        if let last, last.key != key { other = last.at }
        last = (key, now)
    }

    func last(besides key: ContentKey) -> MonotonicTime? { last?.key == key ? other : last?.at }

    static func == (left: Passes, right: Passes) -> Bool {
        left.last?.key == right.last?.key && left.last?.at == right.last?.at && left.other == right.other
    }
}

/// One gate for the server as a whole and one for each kind of request.
///
/// Every temporary failure closes both. Any answer opens the server's gate; only an answer to the same kind opens the
/// gate of that kind. Thus a server that accepts registrations but fails uploads is not asked in a hot loop.
struct Gates: Equatable, Sendable {
    private(set) var server = Gate()
    /// When the server last answered any request.
    private(set) var lastAnswer: MonotonicTime?
    private var passes: [RequestKind: Passes] = [:]
    private var kinds = Array(repeating: Gate(), count: RequestKind.allCases.count)

    /// Returns the gate that holds back this kind of request, and of two the one that waits longer; nil if both are
    /// open.
    func closed(for kind: RequestKind) -> Gate? {
        let kindGate = kinds[kind.rawValue]
        guard !server.isOpen, !kindGate.isOpen else { return [server, kindGate].first { !$0.isOpen } }
        guard let mine = kindGate.deadline, let all = server.deadline else { return server }
        return mine > all ? kindGate : server
    }

    /// Returns how many requests of this kind may begin now; nil for no limit.
    ///
    /// - Parameter isFirstTry: whether they are for uploads that did not fail yet.
    func allowance(for kind: RequestKind, at now: MonotonicTime, isFirstTry: Bool) -> Int? {
        [server, kinds[kind.rawValue]].compactMap { $0.allowance(at: now, isFirstTry: isFirstTry) }.min()
    }

    /// Whether the server took a request of this kind for another upload after a time.
    func hasPassed(_ kind: RequestKind, besides key: ContentKey, after time: MonotonicTime) -> Bool {
        passes[kind]?.last(besides: key).map { $0 > time } ?? false
    }

    /// Whether a gate lets a probe through now.
    ///
    /// - Parameter isFirstTry: whether the probe is for an upload that did not fail yet.
    func isProbeDue(at now: MonotonicTime, isFirstTry: Bool) -> Bool {
        ([server] + kinds).contains { $0.allowance(at: now, isFirstTry: isFirstTry) == 1 }
    }

    /// The first gate that is not open, the server's own first; nil if all are open.
    var trouble: Gate? { server.isOpen ? kinds.first { !$0.isOpen } : server }

    /// Records the start of a request.
    ///
    /// - Returns: whether the request is a probe.
    mutating func begin(_ kind: RequestKind) -> Bool {
        let probe = !server.isOpen || !kinds[kind.rawValue].isOpen
        server.begin()
        kinds[kind.rawValue].begin()
        return probe
    }

    /// Records an answer of the server.
    ///
    /// - Parameter key: the upload whose request succeeded; nil if the answer is no success of an upload.
    mutating func succeed(_ kind: RequestKind, of key: ContentKey? = nil, at now: MonotonicTime) {
        lastAnswer = now
        if let key { passes[kind, default: Passes()].record(key, at: now) }
        server.succeed()
        kinds[kind.rawValue].succeed()
    }

    /// Records a call of this kind that sent no request, so it says nothing about the server. Such calls need not be held
    /// back; if a request of this kind fails, the next pause is longer.
    mutating func skip(_ kind: RequestKind, wasProbe: Bool, now: Now) {
        guard wasProbe else { return }
        server.abandonProbe(now: now)
        kinds[kind.rawValue].openEarly()
    }

    /// Opens the gates for other requests while a probe of this kind is still under way.
    mutating func openEarly(_ kind: RequestKind) {
        server.openEarly()
        kinds[kind.rawValue].openEarly()
    }

    /// Records a failure that is not the file's fault.
    mutating func fail(
        _ kind: RequestKind, _ reason: Gate.Reason, of asker: Asker?, error: FileError, pause: Gate.Pause,
        wasProbe: Bool, now: Now
    ) {
        server.fail(reason, of: asker, error: error, pause: pause, wasProbe: wasProbe, now: now)
        if reason == .unreachable {
            kinds[kind.rawValue].fail(reason, of: asker, error: error, pause: pause, wasProbe: wasProbe, now: now)
        } else if wasProbe {
            kinds[kind.rawValue].abandonProbe(now: now)
        }
    }

    /// Records an answer to a batch that does not say which of its uploads it means. The answer shows that the server
    /// is up. Whether this kind of request works again remains for the next request to show.
    mutating func answerBatch(_ kind: RequestKind, wasProbe: Bool, now: Now) {
        lastAnswer = now.monotonic
        server.succeed()
        if wasProbe { kinds[kind.rawValue].abandonProbe(now: now) }
    }

    /// Records a request without result although the server is not in trouble. Holds back only requests of this kind.
    ///
    /// - Parameter answered: whether the server answered the request at all.
    mutating func holdBack(
        _ kind: RequestKind, of asker: Asker?, error: FileError, pause: Gate.Pause, answered: Bool, wasProbe: Bool,
        now: Now
    ) {
        kinds[kind.rawValue].fail(.unreachable, of: asker, error: error, pause: pause, wasProbe: wasProbe, now: now)
        if answered {
            lastAnswer = now.monotonic
            server.succeed()
        } else if wasProbe {
            server.abandonProbe(now: now)
        }
    }

    /// Records that a probe was abandoned without an answer.
    mutating func abandonProbe(_ kind: RequestKind, now: Now) {
        server.abandonProbe(now: now)
        kinds[kind.rawValue].abandonProbe(now: now)
    }

    /// Lets the next requests probe at once, because the cause may be gone.
    mutating func hurry(now: Now) {
        server.hurry(now: now)
        for index in kinds.indices { kinds[index].hurry(now: now) }
    }

    /// Opens the gate of a kind of request because nothing waits for such requests any more.
    mutating func open(_ kind: RequestKind) {
        kinds[kind.rawValue] = Gate()
    }

    /// When the next gate lets a probe through; nil if no gate waits.
    func nextDeadline(after now: MonotonicTime) -> MonotonicTime? {
        ([server] + kinds).flatMap { [$0.deadline, $0.earliestDeadline] }.compactMap(\.self).filter { $0 > now }.min()
    }
}

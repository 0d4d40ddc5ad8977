/// Whether requests are let through.
///
/// A failure that is not one file's fault closes the gate for everybody: a server that is down gets one request per
/// backoff and not one per file. When the pause is over a single request is let through as a probe; its success opens
/// the gate again, its failure closes it for longer.
struct Gate: Equatable, Sendable {
    /// Why the gate is closed.
    enum Reason: Equatable, Sendable {
        /// The server can't be reached or is in trouble.
        case unreachable
        /// The server refused the credentials.
        case signedOut
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
    /// Failures in a row of requests that the gate let through.
    private(set) var failures = 0

    var isOpen: Bool { state == .open }

    /// When a probe is let through; nil unless closed.
    var deadline: MonotonicTime? {
        if case .closed(let until) = state { until } else { nil }
    }

    /// How many requests may begin now; nil is no limit.
    func allowance(at now: MonotonicTime) -> Int? {
        switch state {
        case .open: nil
        case .closed(let until): until <= now ? 1 : 0
        case .probing: 0
        }
    }

    /// A request begins.
    mutating func begin() {
        if case .closed = state { state = .probing }
    }

    /// A request was answered, whatever the answer says of its file.
    mutating func succeed() {
        // What was on its way when the credentials were refused may still be answered; that tells nothing of the next request.
        if reason == .signedOut, case .closed = state { return }
        if state != .open { self = Gate() }
    }

    /// A request failed in a way that is not its file's fault.
    ///
    /// - Parameter wasProbe: whether it was the probe; a straggler begun before the gate closed does not lengthen the
    ///   pause.
    mutating func fail(_ reason: Reason, error: FileError, pause: (Int) -> Duration, wasProbe: Bool, now: Now) {
        if case .closed = state, self.reason == reason { return }
        if state == .probing && !wasProbe && self.reason == reason { return }
        failures = self.reason == reason ? failures + 1 : 1
        self.reason = reason
        self.error = error
        let duration = pause(failures)
        state = .closed(until: now.monotonic + duration)
        nextAttemptAt = now.wall.advanced(by: duration)
    }

    /// The probe was given up before it was answered: the next request is the probe.
    mutating func abandonProbe(now: Now) {
        if state == .probing { state = .closed(until: now.monotonic) }
    }

    /// Something changed that may have mended the cause (a network, new credentials): the next request probes at once.
    ///
    /// A probe that is under way may hang in the old network, or bear the old credentials: it is not waited for. A
    /// network may need a moment more until it carries anything, so the pauses begin anew as well.
    mutating func hurry(now: Now) {
        if isOpen { return }
        failures = 0
        state = .closed(until: now.monotonic)
        nextAttemptAt = now.wall
    }
}

/// The kinds of request a remote is asked for.
enum RequestKind: Int, CaseIterable, Sendable {
    case register, resume, send, finish, remove, commit
}

/// One gate for the server as a whole and one for each kind of request.
///
/// Every temporary failure closes both. Any answer opens the first, only an answer to the same kind opens the second:
/// so a server whose uploads fail while its registrations succeed is not asked in a hot loop either.
struct Gates: Equatable, Sendable {
    private(set) var server = Gate()
    /// When the server last answered anything.
    private(set) var lastAnswer: MonotonicTime?
    private var kinds = Array(repeating: Gate(), count: RequestKind.allCases.count)

    /// The gate that keeps a kind of request waiting, the one that waits longest; nil when none does.
    func closed(for kind: RequestKind) -> Gate? {
        let kindGate = kinds[kind.rawValue]
        guard !server.isOpen, !kindGate.isOpen else { return [server, kindGate].first { !$0.isOpen } }
        guard let mine = kindGate.deadline, let all = server.deadline else { return server }
        return mine > all ? kindGate : server
    }

    /// How many requests of this kind may begin now; nil is no limit.
    func allowance(for kind: RequestKind, at now: MonotonicTime) -> Int? {
        switch (server.allowance(at: now), kinds[kind.rawValue].allowance(at: now)) {
        case (nil, nil): nil
        case (let some?, nil), (nil, let some?): some
        case (let one?, let other?): min(one, other)
        }
    }

    /// The gate that tells why not everything is let through, the server's own first; nil when everything is open.
    var trouble: Gate? { ([server] + kinds).first { !$0.isOpen } }

    /// A request begins.
    ///
    /// - Returns: whether it is a probe.
    mutating func begin(_ kind: RequestKind) -> Bool {
        let probe = !server.isOpen || !kinds[kind.rawValue].isOpen
        server.begin()
        kinds[kind.rawValue].begin()
        return probe
    }

    /// A request was answered.
    mutating func succeed(_ kind: RequestKind, at now: MonotonicTime) {
        lastAnswer = now
        server.succeed()
        kinds[kind.rawValue].succeed()
    }

    /// A request failed in a way that is not its file's fault.
    mutating func fail(
        _ kind: RequestKind, _ reason: Gate.Reason, error: FileError, pause: (Int) -> Duration, wasProbe: Bool, now: Now
    ) {
        server.fail(reason, error: error, pause: pause, wasProbe: wasProbe, now: now)
        if reason == .unreachable {
            kinds[kind.rawValue].fail(reason, error: error, pause: pause, wasProbe: wasProbe, now: now)
        } else if wasProbe {
            kinds[kind.rawValue].abandonProbe(now: now)
        }
    }

    /// A batch was answered without saying which of its uploads was meant: the server is there, and whether the kind of
    /// request works again is told by the next one.
    mutating func answerBatch(_ kind: RequestKind, wasProbe: Bool, now: Now) {
        lastAnswer = now.monotonic
        server.succeed()
        if wasProbe { kinds[kind.rawValue].abandonProbe(now: now) }
    }

    /// A request led nowhere though the server is not in trouble: only requests of its kind are held back.
    ///
    /// - Parameter answered: whether the server answered it at all.
    mutating func holdBack(
        _ kind: RequestKind, error: FileError, pause: (Int) -> Duration, answered: Bool, wasProbe: Bool, now: Now
    ) {
        kinds[kind.rawValue].fail(.unreachable, error: error, pause: pause, wasProbe: wasProbe, now: now)
        if answered {
            lastAnswer = now.monotonic
            server.succeed()
        } else if wasProbe {
            server.abandonProbe(now: now)
        }
    }

    /// A probe was given up before it was answered.
    mutating func abandonProbe(_ kind: RequestKind, now: Now) {
        server.abandonProbe(now: now)
        kinds[kind.rawValue].abandonProbe(now: now)
    }

    /// Something changed that may have mended the cause.
    mutating func hurry(now: Now) {
        server.hurry(now: now)
        for index in kinds.indices { kinds[index].hurry(now: now) }
    }

    /// Nothing waits for requests of this kind any more: why they were held back is of no concern.
    mutating func open(_ kind: RequestKind) {
        kinds[kind.rawValue] = Gate()
    }

    /// When the next gate lets a probe through; nil when none is waiting.
    func nextDeadline(after now: MonotonicTime) -> MonotonicTime? {
        ([server] + kinds).compactMap(\.deadline).filter { $0 > now }.min()
    }
}

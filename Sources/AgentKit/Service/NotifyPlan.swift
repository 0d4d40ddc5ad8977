import UploadCore

/// What the service manager is told and when (man 3 sd_notify); decides only: takes events and the time, returns what
/// is to be done.
///
/// It never wakes anybody but for the watchdog, which the service manager asks for, once after a change that came
/// too soon behind the last look, and during a long start.
struct NotifyPlan: Sendable {
    /// What happened.
    enum Event: Sendable {
        /// The start, or a reload, is through.
        case ready
        /// A reload begins, at this many microseconds of CLOCK_MONOTONIC.
        case reloading(monotonicMicroseconds: UInt64)
        /// The agent begins to end.
        case stopping
        /// The agent begins to start, which may take long: a damaged ledger is built anew first.
        case starting
        /// Something changed that the status line may show.
        case changed
        /// The time asked for with `wake` has come.
        case due
        /// The agent answered the question put by `ask`.
        case answered(status: String)
    }

    /// What is to be done.
    enum Action: Equatable, Sendable {
        /// Send one datagram.
        case send([String])
        /// Ask the agent how it is; the answer may take as long as it likes.
        case ask
        /// Come back with `due` at this time, and not at the one named before.
        case wake(at: MonotonicTime)
        /// Say that the agent owes an answer since this long.
        case complain(silentFor: Duration)
    }

    private enum Phase {
        case starting, ready, reloading, stopping
    }

    /// The shortest time between two status lines.
    static let pause = Duration.seconds(5)

    /// How often a start that goes on asks for more time, how much it asks for, and when it stops asking.
    static let startPause = Duration.seconds(60)
    private static let startExtension = Duration.seconds(180)
    static let longestStart = Duration.seconds(3600)

    /// The longest status line, in characters; man 3 sd_notify names no bound, but a datagram has one.
    private static let longestStatus = 300

    /// How often the agent is asked for the watchdog's sake; nil without a watchdog.
    private let interval: Duration?
    private var phase = Phase.starting
    private var began: MonotonicTime?
    private var asked: MonotonicTime?
    private var isAsking = false
    private var hasComplained = false
    /// Whether something changed that the last question may have come too early for.
    private var isStale = false
    private var wake: MonotonicTime?
    private var status: String?

    /// - Parameter watchdog: the time within which the service manager wants a sign of life; nil: it wants none.
    init(watchdog: Duration?) {
        interval = watchdog.map { $0 / 2 }
    }

    /// Takes an event in.
    mutating func handle(_ event: Event, at now: MonotonicTime) -> [Action] {
        if phase == .stopping { return [] }
        switch event {
        case .starting:
            began = now
            return sleep(until: now + Self.startPause)
        case .ready:
            phase = .ready
            return [.send(["READY=1"])] + look(at: now)
        case .reloading(let microseconds):
            phase = .reloading
            status = "reloading the configuration"
            return [.send(["RELOADING=1", "MONOTONIC_USEC=\(microseconds)", "STATUS=reloading the configuration"])]
        case .stopping:
            phase = .stopping
            return [.send(["STOPPING=1", "STATUS=ending; what is left goes on with the next start"])]
        case .changed:
            guard phase != .starting else { return [] }
            isStale = true
            return isAsking ? [] : plan(at: now)
        case .due:
            wake = nil
            if phase == .starting { return extendStart(at: now) }
            return isAsking ? complain(at: now) : plan(at: now)
        case .answered(let status):
            isAsking = false
            hasComplained = false
            return tell(status) + plan(at: now)
        }
    }

    private mutating func extendStart(at now: MonotonicTime) -> [Action] {
        guard let began, now < began + Self.longestStart else { return [] }
        return [.send(["EXTEND_TIMEOUT_USEC=\(Self.startExtension.microseconds)"])]
            + sleep(until: now + Self.startPause)
    }

    /// Asks when it is time for it, else says when it will be.
    private mutating func plan(at now: MonotonicTime) -> [Action] {
        guard let asked else { return look(at: now) }
        let next = [interval.map { asked + $0 }, isStale ? asked + Self.pause : nil].compactMap(\.self).min()
        guard let next else { return [] }
        return next <= now ? look(at: now) : sleep(until: next)
    }

    private mutating func look(at now: MonotonicTime) -> [Action] {
        guard !isAsking else {
            isStale = true
            return []
        }
        isAsking = true
        isStale = false
        asked = now
        return [.ask] + (interval.map { sleep(until: now + $0) } ?? [])
    }

    private mutating func sleep(until time: MonotonicTime) -> [Action] {
        guard wake != time else { return [] }
        wake = time
        return [.wake(at: time)]
    }

    private mutating func complain(at now: MonotonicTime) -> [Action] {
        guard let asked, !hasComplained else { return [] }
        hasComplained = true
        return [.complain(silentFor: now - asked)]
    }

    private mutating func tell(_ answer: String) -> [Action] {
        var lines: [String] = []
        if interval != nil { lines.append("WATCHDOG=1") }
        let line = String(DisplayText.escaped(answer).prefix(Self.longestStatus))
        if phase == .ready, line != status {
            status = line
            lines.append("STATUS=" + line)
        }
        return lines.isEmpty ? [] : [.send(lines)]
    }
}

extension Duration {
    /// Whole microseconds, 0 for negative durations.
    fileprivate var microseconds: Int64 {
        max(0, components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000)
    }
}

import Text
import UploadCore

/// Decides what to tell the service manager and when (man 3 sd_notify). A value: events and the time in, actions out.
///
/// Requests a wake-up only in three cases: for the service manager's watchdog, once after a change that came too soon
/// after the last question, and during a long start.
struct NotifyPlan: Sendable {
    /// Input of the plan.
    enum Event: Sendable {
        /// The start or a reload is complete.
        case ready
        /// A reload begins, at this many microseconds of CLOCK_MONOTONIC.
        case reloading(monotonicMicroseconds: UInt64)
        /// The agent begins to shut down.
        case stopping
        /// The agent begins to start. This may take long: a damaged ledger is rebuilt first.
        case starting
        /// The status line may have changed.
        case changed
        /// The time requested by `wake` has come.
        case due
        /// The agent answered the question sent by `ask`.
        case answered(status: String)
    }

    /// Output of the plan.
    enum Action: Equatable, Sendable {
        /// Send one datagram.
        case send([String])
        /// Ask the agent for its status. The answer may take any time.
        case ask
        /// Send `due` at this time. Replaces the previous wake-up.
        case wake(at: MonotonicTime)
        /// Log that the agent has not answered for this long.
        case complain(silentFor: Duration)
    }

    private enum Phase {
        case starting, ready, reloading, stopping
    }

    /// Minimum interval between two status lines.
    static let pause = Duration.seconds(5)

    /// During a long start: interval between requests for more time, time requested, and time of the last request.
    static let startPause = Duration.seconds(60)
    private static let startExtension = Duration.seconds(180)
    static let longestStart = Duration.seconds(3600)

    /// Maximum length of the status line in characters. man 3 sd_notify sets no limit, but a datagram has one.
    private static let longestStatus = 300

    /// Interval between questions for the watchdog; nil without a watchdog.
    private let interval: Duration?
    private var phase = Phase.starting
    private var began: MonotonicTime?
    private var asked: MonotonicTime?
    private var isAsking = false
    private var hasComplained = false
    /// Whether a change came after the last question was sent.
    private var isStale = false
    private var wake: MonotonicTime?
    private var status: String?

    /// - Parameter watchdog: The service manager's watchdog timeout; nil without a watchdog.
    init(watchdog: Duration?) {
        interval = watchdog.map { $0 / 2 }
    }

    /// Handles an event.
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
            return [.send(["STOPPING=1", "STATUS=ending; the next start continues unfinished uploads"])]
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

    /// Asks the agent if a question is due; otherwise requests a wake-up for the next question.
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

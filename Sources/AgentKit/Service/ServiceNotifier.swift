import Glibc
import LinuxSystem
import Logging
import Synchronization
import UploadCore

/// Tells the service manager how the agent is (man 3 sd_notify); without one it does nothing.
///
/// The watchdog is fed when the agent answers, and only then: an agent whose uploader hangs is ended and started again by
/// the service manager, which is what a watchdog is for.
struct ServiceNotifier: Sendable {
    private static let variables = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

    private let session: Session?

    /// A notifier for the service manager that the environment names.
    ///
    /// - Parameters:
    ///   - environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` count.
    ///   - processID: this process; a watchdog that is meant for another one is not fed.
    ///   - clock: tells the time.
    ///   - logger: told when the service manager can't be reached and when the agent does not answer.
    init(
        environment: [String: String], processID: Int32 = getpid(), clock: any Clocks = SystemClocks(), logger: Logger
    ) {
        guard let name = environment["NOTIFY_SOCKET"], !name.isEmpty else {
            session = nil
            return
        }
        guard let socket = NotifySocket(name) else {
            logger.warning("NOTIFY_SOCKET is no address of a socket; the service manager is told nothing")
            session = nil
            return
        }
        let watchdog = Self.watchdog(environment, processID: processID)
        session = Session(socket: socket, plan: NotifyPlan(watchdog: watchdog), clock: clock, logger: logger)
    }

    /// The time within which the service manager wants a sign of life of this process (man 3 sd_watchdog_enabled).
    static func watchdog(_ environment: [String: String], processID: Int32) -> Duration? {
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap({ Int64($0) }), microseconds > 0 else {
            return nil
        }
        if let pid = environment["WATCHDOG_PID"], !pid.isEmpty, Int32(pid) != processID { return nil }
        return .microseconds(microseconds)
    }

    /// Takes the variables out of the process's environment, so that no child speaks in the agent's name.
    ///
    /// To be called while the process has one thread: man 3 unsetenv is not safe beside a getenv.
    static func hideFromChildren() {
        for variable in variables { unsetenv(variable) }
    }

    /// The agent begins to start; until it is up, more time is asked for.
    func starting() async {
        await session?.handle(.starting)
    }

    /// The agent is up, or a reload is through.
    ///
    /// - Parameter summary: from now on asked how the agent is, in one line; the watchdog is fed with each answer, so it
    ///   must come from whatever must not hang. Nil: the one given before.
    func ready(summary: (@Sendable () async -> String)? = nil) async {
        await session?.ready(summary)
    }

    /// Does the work of a reload, and tells when it begins and when it is through.
    func whileReloading(_ work: () async -> Void) async {
        await session?.handle(.reloading(monotonicMicroseconds: Self.monotonicMicroseconds()))
        await work()
        await session?.handle(.ready)
    }

    /// The process begins anew in its place, and will say when it is ready.
    func beginsAnew() async {
        await session?.handle(.reloading(monotonicMicroseconds: Self.monotonicMicroseconds()))
    }

    /// The agent begins to end; returns once the service manager has it.
    func stopping() async {
        await session?.handle(.stopping)
    }

    /// Something changed that the summary may show; cheap, and may be called thousands of times a second.
    func changed() {
        session?.changed()
    }

    private static func monotonicMicroseconds() -> UInt64 { monotonicNanoseconds() / 1000 }
}

/// Carries out what the plan decides. It runs on a thread of its own: sending waits where the service manager is busy.
private actor Session {
    private let thread = SerialThread(name: "notify")
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private let socket: NotifySocket
    private let clock: any Clocks
    private let logger: Logger
    private var plan: NotifyPlan
    private var summary: (@Sendable () async -> String)?
    private var timer: Task<Void, Never>?
    private var hasFailed = false
    /// Whether the plan knows already that something changed since the last question.
    private let knowsOfChange = Atomic(false)

    init(socket: NotifySocket, plan: NotifyPlan, clock: any Clocks, logger: Logger) {
        self.socket = socket
        self.plan = plan
        self.clock = clock
        self.logger = logger
    }

    func ready(_ summary: (@Sendable () async -> String)?) {
        if let summary { self.summary = summary }
        handle(.ready)
    }

    nonisolated func changed() {
        guard !knowsOfChange.exchange(true, ordering: .relaxed) else { return }
        thread.run { self.assumeIsolated { $0.handle(.changed) } }
    }

    func handle(_ event: NotifyPlan.Event) {
        for action in plan.handle(event, at: clock.now.monotonic) { perform(action) }
    }

    private func perform(_ action: NotifyPlan.Action) {
        switch action {
        case .send(let lines): send(lines)
        case .ask: ask()
        case .wake(let time): wake(at: time)
        case .complain(let silence):
            logger.error(
                "the uploader does not answer; the service manager will end the agent and start it again",
                metadata: ["silent_for": "\(silence)"])
        }
    }

    private func send(_ lines: [String]) {
        do {
            try socket.send(lines)
            hasFailed = false
        } catch {
            if !hasFailed {
                logger.warning("the service manager can't be told anything", metadata: ["reason": "\(error)"])
            }
            hasFailed = true
        }
    }

    private func ask() {
        knowsOfChange.store(false, ordering: .relaxed)
        guard let summary else { return }
        Task { [weak self] in
            let line = await summary()
            await self?.handle(.answered(status: line))
        }
    }

    private func wake(at time: MonotonicTime) {
        timer?.cancel()
        let pause = max(time - clock.now.monotonic, .zero)
        timer = Task { [weak self] in
            guard (try? await Task.sleep(for: pause)) != nil else { return }
            await self?.handle(.due)
        }
    }
}

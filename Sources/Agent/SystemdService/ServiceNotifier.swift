package import Clocks
import Glibc
import LinuxSystem
package import Logging
import Synchronization
import UploadCore

/// Reports the agent's state to the service manager (man 3 sd_notify). Does nothing without a service manager.
///
/// Feeds the watchdog only when the agent answers. If the uploader hangs, the service manager kills and restarts the
/// agent.
package struct ServiceNotifier: Sendable {
    private static let variables = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

    private let session: Session?

    /// Creates a notifier for the service manager named in the environment.
    ///
    /// - Parameters:
    ///   - environment: Provides `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    ///   - processID: This process. A watchdog meant for another process is ignored.
    ///   - clock: The clock.
    ///   - logger: Logs an unreachable service manager and an unresponsive agent.
    package init(
        environment: [String: String], processID: Int32 = getpid(), clock: any Clocks = SystemClocks(), logger: Logger
    ) {
        guard let name = environment["NOTIFY_SOCKET"], !name.isEmpty else {
            session = nil
            return
        }
        guard let socket = NotifySocket(name) else {
            logger.warning("NOTIFY_SOCKET is not a socket address, so the agent can't notify the service manager")
            session = nil
            return
        }
        let watchdog = Self.watchdog(environment, processID: processID)
        session = Session(socket: socket, plan: NotifyPlan(watchdog: watchdog), clock: clock, logger: logger)
    }

    /// Returns the watchdog timeout for this process (man 3 sd_watchdog_enabled).
    static func watchdog(_ environment: [String: String], processID: Int32) -> Duration? {
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap({ Int64($0) }), microseconds > 0 else {
            return nil
        }
        if let pid = environment["WATCHDOG_PID"], !pid.isEmpty, Int32(pid) != processID { return nil }
        return .microseconds(microseconds)
    }

    /// Removes the variables from the process's environment, so that no child sends notifications in the agent's name.
    ///
    /// Must be called while the process has one thread: unsetenv(3) is not safe during a concurrent getenv(3).
    package static func hideFromChildren() {
        for variable in variables { unsetenv(variable) }
    }

    /// Reports that the agent begins to start. Requests more time until the agent is ready.
    package func starting() async {
        await session?.handle(.starting)
    }

    /// Reports that the agent is ready, or that a reload is complete.
    ///
    /// - Parameter summary: Called from now on for the status line. Each answer feeds the watchdog, so the answer must
    ///   come from the component that must not hang. If nil, the previous closure stays.
    package func ready(summary: (@Sendable () async -> String)? = nil) async {
        await session?.ready(summary)
    }

    /// Performs a reload, and reports its begin and its end.
    package func whileReloading(_ work: () async -> Void) async {
        await session?.handle(.reloading(monotonicMicroseconds: Self.monotonicMicroseconds()))
        await work()
        await session?.handle(.ready)
    }

    /// Reports that the process is about to execute itself again. The new program reports when it is ready.
    package func beginsAnew() async {
        await session?.handle(.reloading(monotonicMicroseconds: Self.monotonicMicroseconds()))
    }

    /// Reports that the agent begins to shut down. Returns after the notification was sent.
    package func stopping() async {
        await session?.handle(.stopping)
    }

    /// Reports that the summary may have changed. Cheap; may be called thousands of times a second.
    package func changed() {
        session?.changed()
    }

    private static func monotonicMicroseconds() -> UInt64 { monotonicNanoseconds() / 1000 }
}

/// Performs the plan's actions, on a thread of its own: sending blocks while the service manager is busy.
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
    /// Whether the plan already knows of a change since the last question.
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
                "the uploader does not answer; the service manager will kill the agent and start it again",
                metadata: ["silent_for": "\(silence)"])
        }
    }

    private func send(_ lines: [String]) {
        do {
            try socket.send(lines)
            hasFailed = false
        } catch {
            if !hasFailed {
                logger.warning("the agent can't notify the service manager", metadata: ["reason": "\(error)"])
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
            guard (try? await Timers.sleep(for: pause)) != nil else { return }
            await self?.handle(.due)
        }
    }
}

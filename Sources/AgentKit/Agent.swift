import Glibc
import LinuxSystem
public import Logging
import ServiceLifecycle
import UnixSignals

/// The agent: watches the outbox and uploads what is dropped there until it is told to end.
public struct Agent: Sendable {
    private let source: ConfigurationSource
    private let environment: [String: String]
    private let logger: Logger
    private let version: String

    /// An agent that is not running yet.
    ///
    /// - Parameters:
    ///   - source: the effective configuration, and how SIGHUP comes to a new one.
    ///   - environment: the process's environment; OUTBOX_TOKEN is looked for in it.
    ///   - version: told by `/v1/health` and to the server.
    ///   - logger: told what happens.
    public init(source: ConfigurationSource, environment: [String: String], version: String, logger: Logger) {
        self.source = source
        self.environment = environment
        self.version = version
        self.logger = logger
    }

    /// Runs until SIGTERM or SIGINT; what was under way goes on with the next start.
    ///
    /// - Returns: whether the process is to begin anew at once, because another account signed in.
    /// - Throws: `AgentFailure` when it cannot begin.
    public func run() async throws -> Bool {
        let configuration = source.initial.configuration
        if let refusal = configuration.startRefusal() {
            throw AgentFailure.configuration(refusal)
        }
        for line in configuration.notBuilt { logger.warning("\(line)") }
        Self.prepareProcess()
        let state = try StateDirectory(path: configuration.state)
        let notifier = ServiceNotifier(environment: environment, logger: logger)
        await notifier.starting()
        // Opening a large ledger, or building it anew, takes long: not on a thread of the pool.
        let starter = SerialThread(name: "start")
        let running = try await Task(executorPreference: starter) {
            try RunningAgent(
                configuration, environment: environment, version: version, notifier: notifier, logger: logger)
        }.value
        let control = running.controlServer()
        let reload = ReloadService(
            source: source, notifier: notifier, adopt: { running.adopt($0) }, logger: logger)
        try control.prepare()
        logger.info(
            "outbox is watching",
            metadata: [
                "configuration": "\(source.initial.file ?? "none, the defaults apply")",
                "outbox": "\(configuration.outbox)", "server": "\(configuration.remote.url)",
                "state": "\(configuration.state)", "version": "\(version)",
            ])
        // The last one ends first: a supervisor hears of the end before anything goes, and nobody asks an uploader that
        // is going.
        var group = ServiceGroupConfiguration(
            services: [
                .init(service: running, successTerminationBehavior: .gracefullyShutdownGroup),
                .init(service: reload), .init(service: control),
                .init(service: Farewell(notifier: notifier, end: running.end)),
            ],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet(logger))
        group.maximumGracefulShutdownDuration = .seconds(4)
        defer { withExtendedLifetime(state) {} }
        let signals = Task { [end = running.end] in
            for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) where !end.isToldToEnd {
                end.isToldToEnd = true
                // Before the control interface ends, which waits for answers of the uploader.
                running.uploader.beginToEnd()
                Self.endInTime(logger)
            }
        }
        defer { signals.cancel() }
        do {
            try await ServiceGroup(configuration: group).run()
        } catch let error as ServiceGroupError {
            // Told to end while it was about to begin anew: that is an ordinary end.
            guard error.errorCode == .serviceFinishedUnexpectedly, running.end.reason == .accountChanged else {
                throw error
            }
        }
        if running.end.reason == .accountChanged, !running.end.isToldToEnd {
            logger.notice("another account signed in; the agent begins anew")
            return true
        }
        logger.info("outbox has ended; what is left goes on with the next start")
        return false
    }

    /// Ends the process where the ordinary end takes too long: on a disk or a network file system that does not answer.
    /// What is on the disk is always enough to go on, and a supervisor kills after 20 s (`TimeoutStopSec`).
    private static func endInTime(_ logger: Logger) {
        startThread(name: "last-resort") {
            sleep(15)
            logger.error("the agent did not end within 15 s and is cut off; the next start goes on with what is stored")
            _exit(0)
        }
    }

    /// The service group tells each of its steps; only what goes wrong is of interest here.
    private func quiet(_ logger: Logger) -> Logger {
        var logger = logger
        logger.logLevel = max(logger.logLevel, .error)
        return logger
    }

    /// Signals that must not end the process: a peer that went away, a lease that was broken (see `FileWatch`), a file
    /// size limit, and a reload that is asked for before the agent can do it.
    private static func prepareProcess() {
        signal(SIGHUP, SIG_IGN)
        signal(SIGPIPE, SIG_IGN)
        // A limit of file sizes is then an error like a full disk.
        signal(SIGXFSZ, SIG_IGN)
        signal(SIGIO, SIG_IGN)
        ServiceNotifier.hideFromChildren()
    }
}

import AgentConfiguration
import ControlAPI
import Glibc
import LinuxSystem
package import Logging
import ServiceLifecycle
import SystemdService
import UnixSignals

/// The agent: watches the outbox and uploads dropped files until it receives a signal to end.
package struct Agent: Sendable {
    private let source: ConfigurationSource
    private let environment: [String: String]
    private let logger: Logger
    private let version: String

    /// Creates an agent. `run` starts it.
    ///
    /// - Parameters:
    ///   - source: the effective configuration, and how to read it again on SIGHUP.
    ///   - environment: the process's environment, which may contain OUTBOX_TOKEN.
    ///   - version: reported by `/v1/health` and sent to the server.
    ///   - logger: logs the agent's events.
    package init(source: ConfigurationSource, environment: [String: String], version: String, logger: Logger) {
        self.source = source
        self.environment = environment
        self.version = version
        self.logger = logger
    }

    /// Runs until SIGTERM or SIGINT. Unfinished uploads continue at the next start.
    ///
    /// - Returns: whether the process must restart at once, because another account signed in.
    /// - Throws: `AgentFailure` if the agent can't start.
    package func run() async throws -> Bool {
        let configuration = source.initial.configuration
        // On a file system that does not answer, the agent waits for its outbox.
        let refusal = await TimeLimit.run("directories", .seconds(2)) { configuration.nestingRefusal() }
        if let refusal = refusal ?? nil { throw AgentFailure.configuration(refusal) }
        Self.prepareProcess()
        let state = try StateDirectory(path: configuration.state)
        let notifier = ServiceNotifier(environment: environment, logger: logger)
        await notifier.starting()
        let settings = SettingsInForce(source.initial)
        // Opening or rebuilding a large ledger takes long, so it gets a separate thread instead of one of the pool.
        let starter = SerialThread(name: "start")
        let running = try await Task(executorPreference: starter) {
            try RunningAgent(
                configuration, environment: environment, version: version, notifier: notifier,
                settings: { settings.json }, logger: logger)
        }.value
        let control = running.controlServer()
        let reload = ReloadService(
            signals: await UnixSignalsSequence(trapping: .sighup), source: source, notifier: notifier,
            settings: settings, adopt: { running.adopt($0) }, logger: logger)
        try control.prepare()
        logger.info(
            "outbox is watching",
            metadata: [
                "configuration": "\(source.initial.file ?? "none, the defaults apply")",
                "outbox": "\(configuration.outbox)", "server": "\(configuration.remote.url)",
                "state": "\(configuration.state)", "version": "\(version)",
            ])
        // Services end in reverse order. The supervisor hears of the end first, and the control interface ends before
        // the uploader that it asks. Each has a name, since the default is a dump of the whole value with its configuration.
        let farewell = Farewell(notifier: notifier, end: running.end)
        var group = ServiceGroupConfiguration(
            services: [
                .init(
                    service: running, successTerminationBehavior: .gracefullyShutdownGroup, serviceName: "agent"),
                .init(service: reload, serviceName: "reload"), .init(service: control, serviceName: "control"),
                .init(service: farewell, serviceName: "farewell"),
            ],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet(logger))
        group.maximumGracefulShutdownDuration = .seconds(4)
        defer { withExtendedLifetime(state) {} }
        let signals = Task { [end = running.end] in
            for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) where !end.isToldToEnd {
                end.isToldToEnd = true
                // Begin to end the uploader before the control interface ends, which waits for the uploader's
                // answers.
                running.uploader.beginToEnd()
                Self.endInTime(state, logger)
            }
        }
        defer { signals.cancel() }
        do {
            try await ServiceGroup(configuration: group).run()
        } catch let error as ServiceGroupError {
            // A signal that arrives just before a restart makes it an ordinary end.
            guard error.errorCode == .serviceFinishedUnexpectedly, running.end.reason == .accountChanged else {
                throw error
            }
        }
        if running.end.reason == .accountChanged, !running.end.isToldToEnd {
            logger.notice("another account signed in; the agent restarts itself")
            return true
        }
        logger.info("outbox has ended; the next start continues unfinished uploads")
        return false
    }

    /// Ends the process if the ordinary end takes too long, for example on a disk or a network file system that does
    /// not answer. The data on disk always suffices to continue. A supervisor kills after 20 s (`TimeoutStopSec`).
    private static func endInTime(_ state: StateDirectory, _ logger: Logger) {
        startThread(name: "last-resort") {
            sleep(8)
            logger.error("the agent did not end within 8 s and is killed; the next start continues from the ledger")
            // A thread in a call that cannot be interrupted outlives the process's end, and with it the lock would.
            state.release()
            _exit(0)
        }
    }

    /// Raises the log level for the service group, which logs each of its steps. Only its errors matter here.
    private func quiet(_ logger: Logger) -> Logger {
        var logger = logger
        logger.logLevel = max(logger.logLevel, .error)
        return logger
    }

    /// Ignores signals that must not end the process: a closed connection, a broken lease (see `FileWatch`), a file
    /// size limit, and a reload request before the agent can reload.
    private static func prepareProcess() {
        signal(SIGHUP, SIG_IGN)
        signal(SIGPIPE, SIG_IGN)
        // A write beyond the file size limit then fails with an error, like on a full disk.
        signal(SIGXFSZ, SIG_IGN)
        signal(SIGIO, SIG_IGN)
        ServiceNotifier.hideFromChildren()
    }
}

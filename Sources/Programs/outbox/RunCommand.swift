import Agent
import AgentConfiguration
import ArgumentParser
import Glibc
import Logging
import Session
import Versions

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run the agent in the foreground.",
        discussion: """
            Watches the outbox and uploads the files dropped there until SIGTERM or SIGINT (Ctrl-C). The next start \
            continues unfinished uploads. Logs go to stderr. Only one agent can use a state directory; a second one \
            exits at once with status 75.

            SIGHUP reloads the configuration: limits, log level and token_file change at once, all other keys at the \
            next start.

            Examples:
              outbox run
              outbox run --config ~/camera.toml --log-level debug
              outbox run --log-format json 2>> agent.log
            """)

    @OptionGroup var common: CommonOptions

    @Option(help: "The least severe level to log. Overrides log.level of the configuration.")
    var logLevel: LogLevel?

    @Option(help: "The log format: lines of text, or one JSON object a line.")
    var logFormat = LogFormat.text

    func run() async throws {
        let surroundings = Surroundings()
        let effective = try common.effectiveConfiguration(in: surroundings)
        if let objection = effective.objectionToToken(environment: surroundings.environment) {
            throw CommandFailure.objection(objection)
        }
        let sink = LogSink(format: logFormat, environment: surroundings.environment)
        let threshold = LogThreshold(logLevel?.level ?? effective.configuration.log.level)
        let logger = Logger(label: "outbox") { _ in AgentLogHandler(sink: sink, threshold: threshold) }
        for warning in effective.notices { logger.warning("\(warning)") }
        let source = ConfigurationSource(
            initial: effective, read: { [common] in try common.effectiveConfiguration(in: surroundings) },
            setLogLevel: { [logLevel] in if logLevel == nil { threshold.set($0) } })
        let agent = Agent(
            source: source, environment: surroundings.environment,
            version: ProgramVersion.current, logger: logger)
        if try await agent.run() { throw Self.beginAnew(surroundings.environment) }
    }

    /// Executes this program again in the same process, with the original arguments and environment.
    private static func beginAnew(_ environment: [String: String]) -> CommandFailure {
        // Threads of a runtime may have signals blocked, and the new program inherits the mask (man 2 execve).
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        execve("/proc/self/exe", CommandLine.unsafeArgv, &variables)
        return .system(
            "the agent cannot restart itself for the new account: \(String(cString: strerror(errno))); start `outbox run` again"
        )
    }
}

/// A log level on the command line.
struct LogLevel: ExpressibleByArgument, Equatable {
    static let allValueStrings = Configuration.LogLevel.allCases.map(\.rawValue)

    let level: Configuration.LogLevel

    init?(argument: String) {
        guard let level = Configuration.LogLevel(rawValue: argument) else { return nil }
        self.level = level
    }
}

extension LogFormat: ExpressibleByArgument {}

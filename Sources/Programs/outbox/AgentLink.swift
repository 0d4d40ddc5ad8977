import AgentConfiguration
import Console
import ControlAPI

/// The connection to the agent of one configuration, for a command.
struct AgentLink {
    let configuration: Configuration
    let client: ControlClient
    let place: OutboxPlace
    let surroundings: Surroundings

    /// - Throws: `ConfigurationErrors`.
    init(_ common: CommonOptions) throws(ConfigurationErrors) {
        surroundings = Surroundings()
        configuration = try common.effectiveConfiguration(in: surroundings).configuration
        client = ControlClient(
            socket: configuration.controlSocket(runtimeDirectory: surroundings.environment["XDG_RUNTIME_DIR"]),
            stateDirectory: configuration.state)
        place = OutboxPlace(outbox: configuration.outbox, currentDirectory: surroundings.currentDirectory)
    }

    /// The file with the secret URL of the running agent's dashboard.
    var dashboard: DashboardURLFile { DashboardURLFile(state: configuration.state) }

    /// The error for a word that names no file, with advice.
    func noSuchFile(_ name: String) -> CommandFailure {
        .noSuchFile(
            name: name,
            reason: place.reasonForUnknown(name, bytes: surroundings.bytes(of: name)))
    }

    /// The error for an existing file that the agent does not know yet.
    func notSeenYet(_ name: String) -> CommandFailure {
        .noSuchFile(name: name, reason: "the agent has not seen this file yet; `outbox wait` waits for it")
    }

    /// The error for an existing file that the agent ignores.
    func neverTaken(_ name: String) -> CommandFailure {
        .noSuchFile(
            name: name, reason: "the agent ignores this file: intake.ignore matches its name, or it is a sidecar")
    }
}

/// The polling interval: ten polls per second, fewer if the agent's answers take long.
struct PollPace {
    private static let usual = Duration.milliseconds(100)
    private let clock = ContinuousClock()
    private let began: ContinuousClock.Instant
    private var asked: ContinuousClock.Instant

    init() {
        began = clock.now
        asked = began
    }

    /// Time since the first question.
    var elapsed: Duration { clock.now - began }

    /// Records the start of a poll.
    mutating func ask() { asked = clock.now }

    /// Sleeps until the next poll is due, at most until `end`.
    func rest(until end: Duration? = nil) async throws {
        let pause = max(Self.usual, (clock.now - asked) * 4)
        let left = end.map { max($0 - elapsed, .zero) } ?? pause
        try await clock.sleep(for: min(pause, left))
    }
}

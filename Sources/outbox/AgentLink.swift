import AgentKit

/// What a command needs to ask the agent of its configuration.
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

    /// Why a word names no file, with what to do.
    func noSuchFile(_ name: String) -> CommandFailure {
        .noSuchFile(
            name: name,
            reason: place.reasonForUnknown(name, bytes: surroundings.bytes(of: name)))
    }

    /// Why nothing can be said of a file that is there.
    func notSeenYet(_ name: String) -> CommandFailure {
        .noSuchFile(name: name, reason: "the agent has not seen it yet; `outbox wait` waits for it")
    }

    /// Why a file that is there is not the agent's business.
    func neverTaken(_ name: String) -> CommandFailure {
        .noSuchFile(
            name: name, reason: "the agent never takes it: intake.ignore matches its name, or it is a sidecar")
    }
}

/// How often the agent is asked: ten times a second, and less often where its answers take long to make and to read.
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

    /// Marks the moment before a question.
    mutating func ask() { asked = clock.now }

    /// Sleeps until the next question is due, but not beyond `end`.
    func rest(until end: Duration? = nil) async throws {
        let pause = max(Self.usual, (clock.now - asked) * 4)
        let left = end.map { max($0 - elapsed, .zero) } ?? pause
        try await clock.sleep(for: min(pause, left))
    }
}

import EndToEndSupport
import TestSupport

/// What a trial is run with.
struct TrialContext: Sendable {
    /// How much of everything.
    enum Size: Sendable { case quick, usual, long }

    let size: Size
    /// The run's seed; together with the trial's name it makes all its random choices.
    let seed: UInt64
    let name: String
    /// A directory of this trial's own; what it makes there is looked after by the runner.
    let place: String

    /// The trial's own sequence of random numbers.
    var random: SeededRandom {
        // FNV-1a: the same on every machine and in every run, unlike Hasher.
        let salt = name.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        return SeededRandom(seed: seed ^ salt)
    }

    func count(quick: Int, usual: Int, long: Int) -> Int {
        switch size {
        case .quick: quick
        case .usual: usual
        case .long: long
        }
    }

    /// How long to wait for everything to be through; only a broken trial gets there.
    var patience: Duration { size == .long ? .seconds(3600) : .seconds(600) }

    /// A bar that is a time, as long as it may take on this run's machine: quick trials are part of the tests, which
    /// are run on busy ones.
    func atMost(_ bar: Duration) -> Duration { size == .quick ? bar * 4 : bar }

    func agent(
        remote url: String, _ settings: Settings = [:], environment: [String: String] = [:]
    ) throws -> Agent {
        try Agent(remote: url, settings, environment: environment, in: place)
    }

    func receiver() async throws -> Receiver { try await Receiver.started(in: place) }
}

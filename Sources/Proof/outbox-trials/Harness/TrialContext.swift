import EndToEndSupport
import TestSupport

/// The parameters of a trial.
struct TrialContext: Sendable {
    /// The size of the counts.
    enum Size: Sendable { case quick, usual, long }

    let size: Size
    /// The run's seed. Seed and name determine all random choices of the trial.
    let seed: UInt64
    let name: String
    /// A directory for this trial alone. The runner removes or keeps its contents.
    let place: String

    /// The trial's own random number generator.
    var random: SeededRandom {
        // FNV-1a is the same on every machine and in every run, unlike Hasher.
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

    /// The timeout for all outcomes, which only a broken trial reaches.
    var patience: Duration { size == .long ? .seconds(3600) : .seconds(600) }

    /// Scales a time limit for this run. Quick trials are part of the tests and may run on busy machines.
    func atMost(_ bar: Duration) -> Duration { size == .quick ? bar * 4 : bar }

    func agent(
        remote url: String, _ settings: Settings = [:], environment: [String: String] = [:]
    ) throws -> Agent {
        try Agent(remote: url, settings, environment: environment, in: place)
    }

    func receiver() async throws -> Receiver { try await Receiver.started(in: place) }
}

import ArgumentParser

/// The properties of a network link.
struct LinkShape {
    /// Bits per second in each direction.
    let rate: Double
    /// The round trip of an empty link, in seconds.
    let roundTrip: Double
    /// The share of packets that the link loses, in each direction: 0.001 for 0.1 %.
    let loss: Double

    /// How long a packet may wait for its turn, in seconds. The link drops a packet that would wait longer.
    static let queue = 0.1

    /// The links that P9 measures by default.
    static let usual = [0, 0.001].map { LinkShape(rate: 100e6, roundTrip: 0.05, loss: $0) }

    var text: String {
        "\(Text.fixed(rate / 1e6, rate < 1e7 ? 1 : 0)) Mbit/s, \(Text.fixed(roundTrip * 1000, 0)) ms, "
            + "\(Text.fixed(loss * 100, loss == 0 ? 0 : 1)) % loss"
    }
}

/// The options of a link.
struct LinkOptions: ParsableArguments {
    @Option(help: "The rate of the link in Mbit/s.") var rate = 100.0
    @Option(help: "The round trip of the link in ms.") var roundTrip = 50.0
    @Option(parsing: .upToNextOption, help: "The share of lost packets in %, one or more.") var loss = [0, 0.1]

    var shapes: [LinkShape] {
        loss.map { LinkShape(rate: rate * 1e6, roundTrip: roundTrip / 1000, loss: $0 / 100) }
    }

    func validate() throws {
        guard rate >= 0.1, rate <= 2000 else { throw ValidationError("--rate must be 0.1 … 2000") }
        guard roundTrip >= 0, roundTrip <= 5000 else { throw ValidationError("--round-trip must be 0 … 5000") }
        guard !loss.isEmpty, loss.allSatisfy({ 0 <= $0 && $0 <= 50 }) else {
            throw ValidationError("--loss must be 0 … 50")
        }
    }
}

/// Several contenders taking turns on the same files.
struct Series {
    /// The samples of each contender, in the order of the pairs.
    let samples: [(name: String, samples: [Sample])]

    /// Runs all contenders `pairs` times, A B C A B C …
    ///
    /// A failing rival is dropped from then on, with a note. A failure of the first contender ends the series.
    init(_ contenders: [any Contender], files: TestFiles, pairs: Int, workplace: Workplace) throws {
        var taken = contenders.map { (contender: $0, samples: [Sample]()) }
        for pair in 1...pairs {
            for index in taken.indices where taken[index].samples.count == pair - 1 {
                let contender = taken[index].contender
                do {
                    try files.level()
                    let sample = try workplace.withRoom(contender.name) { try contender.upload(files, room: $0) }
                    note("  \(pair) of \(pairs)  \(contender.name) \(Text.seconds(sample.wall))")
                    taken[index].samples.append(sample)
                } catch  where index > 0 {
                    note("  \(contender.name) is skipped: \(error)")
                }
            }
        }
        samples = taken.filter { $0.samples.count == pairs }.map { ($0.contender.name, $0.samples) }
    }

    /// Returns the medians of one property, by contender.
    func medians(_ property: KeyPath<Sample, Double>) -> [(name: String, median: Double)] {
        samples.map { ($0.name, $0.samples.map { $0[keyPath: property] }.median) }
    }

    /// Returns the first contender's values as a share of the best other contender's, pair by pair.
    ///
    /// - Returns: Nil if there are no other contenders.
    func ratios(_ property: KeyPath<Sample, Double>) -> [Double]? {
        guard samples.count > 1 else { return nil }
        return samples[0].samples.indices.map { pair in
            let best = samples.dropFirst().map { $0.samples[pair][keyPath: property] }.min() ?? .infinity
            return samples[0].samples[pair][keyPath: property] / best
        }
    }
}

extension [Double] {
    /// The median; 0 for an empty array.
    var median: Double { isEmpty ? 0 : (sorted()[(count - 1) / 2] + sorted()[count / 2]) / 2 }

    /// Returns the percentile (nearest rank): the value that this share of the elements does not exceed. 0 for an
    /// empty array.
    func percentile(_ share: Double) -> Double {
        isEmpty ? 0 : sorted()[Swift.min(count - 1, Int((share * Double(count)).rounded(.up)) - 1)]
    }
}

/// Formats numbers for people.
enum Text {
    static func seconds(_ seconds: Double) -> String { "\(fixed(seconds, 2)) s" }

    static func milliseconds(_ seconds: Double) -> String { "\(fixed(seconds * 1000, 1)) ms" }

    static func memory(_ bytes: some BinaryInteger) -> String { memory(Double(bytes)) }

    static func memory(_ bytes: Double) -> String {
        bytes < Double(1 << 30)
            ? "\(fixed(bytes / Double(1 << 20), 1)) MiB" : "\(fixed(bytes / Double(1 << 30), 1)) GiB"
    }

    /// Returns a number with this many decimals.
    static func fixed(_ value: Double, _ decimals: Int) -> String {
        var factor = 1.0
        for _ in 0..<decimals { factor *= 10 }
        let scaled = Int64((abs(value) * factor).rounded())
        let fraction = String(scaled % Int64(factor))
        let padded = String(repeating: "0", count: max(0, decimals - fraction.count)) + fraction
        return "\(value < 0 ? "-" : "")\(scaled / Int64(factor))\(decimals > 0 ? "." + padded : "")"
    }
}

/// Several contenders taking turns on the same files.
struct Series {
    /// The samples of each contender, in the order of the pairs.
    let samples: [(name: String, samples: [Sample])]
    /// The contenders that the first one is compared with.
    let rivals: [String]
    /// Why contenders are missing, a sentence each.
    let absences: [String]

    /// The number of pairs.
    var pairs: Int { samples.first?.samples.count ?? 0 }

    /// Runs all contenders `pairs` times, A B C A B C …
    ///
    /// A failing rival is dropped from then on, with a note. A failure of the first contender ends the series.
    ///
    /// - Parameter absences: Why contenders are missing from the start.
    init(
        _ contenders: [any Contender], absences: [String] = [], files: TestFiles, pairs: Int, workplace: Workplace
    ) throws {
        var absences = absences
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
                    note("  \(contender.name) failed: \(error)")
                    absences.append("\(contender.name) failed: \(error)")
                }
            }
        }
        self.init(taken.filter { $0.samples.count == pairs }, absences: absences)
    }

    /// Creates a series from samples: as many of each contender, in the order of the pairs.
    init(_ taken: [(contender: any Contender, samples: [Sample])], absences: [String] = []) {
        samples = taken.map { ($0.contender.name, $0.samples) }
        rivals = taken.dropFirst().map(\.contender).filter(\.isRival).map(\.name)
        self.absences = absences
    }

    /// Returns the medians of one property, by contender.
    func medians(_ property: KeyPath<Sample, Double>) -> [(name: String, median: Double)] {
        samples.map { ($0.name, $0.samples.map { $0[keyPath: property] }.median) }
    }

    /// Returns the first contender's values as a share of the best other contender's, pair by pair.
    ///
    /// - Returns: Nil if there are no rivals.
    func ratios(_ property: KeyPath<Sample, Double>) -> [Double]? {
        let others = samples.dropFirst().filter { rivals.contains($0.name) }
        guard !others.isEmpty else { return nil }
        return samples[0].samples.indices.map { pair in
            let best = others.map { $0.samples[pair][keyPath: property] }.min() ?? .infinity
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

    /// Returns the number of MiB.
    static func mebibytes(_ bytes: Int64) -> Double { Double(bytes) / Double(1 << 20) }

    static func memory(_ bytes: some BinaryInteger) -> String { memory(Double(bytes)) }

    static func memory(_ bytes: Double) -> String {
        bytes < Double(1 << 30)
            ? "\(fixed(bytes / Double(1 << 20), 1)) MiB" : "\(fixed(bytes / Double(1 << 30), 1)) GiB"
    }

    /// Returns the lowest and the highest of these ratios: `[0.99–1.05]`.
    static func spread(_ ratios: [Double]) -> String {
        "[\(fixed(ratios.min() ?? 0, 2))–\(fixed(ratios.max() ?? 0, 2))]"
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

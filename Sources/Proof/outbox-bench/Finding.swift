/// The result of a measurement, ready for printing.
struct Finding: Encodable {
    /// A number and its limit.
    struct Figure: Encodable {
        let name: String
        let value: Double
        let unit: String
        /// The highest allowed value; nil without a requirement.
        let bar: Double?

        var seen: String { "\(name) \(shown(value))" }
        var limit: String? { bar.map { "≤ \(shown($0))" } }
        var text: String { limit.map { "\(seen) (bar \($0))" } ?? seen }

        private func shown(_ value: Double) -> String {
            "\(Text.fixed(value, unit == "s" || unit.isEmpty ? 2 : 1))\(unit.isEmpty ? "" : " \(unit)")"
        }
    }

    /// The name in the list of measurements: `P1`.
    let measure: String
    /// The measured quantity: `one file of 4 GiB`.
    let what: String
    /// What the agent is compared with; nil for nothing.
    var against: String?
    let figures: [Figure]
    /// The lowest and the highest value of the first figure: `[0.99–1.05]`; empty without pairs.
    var spread = ""
    /// The values behind the figures, or the reason why there are no figures.
    let details: String
    /// The median of each contender, in seconds or bytes; empty without a comparison.
    var medians: [String: Double] = [:]
    /// The number of pairs or drops.
    let count: Int
    /// What `count` counts.
    var counted = "pairs"

    /// Whether all figures are within their bars; nil without a bar.
    var isMet: Bool? {
        let judged = figures.compactMap { figure in figure.bar.map { figure.value <= $0 } }
        return judged.isEmpty ? nil : judged.allSatisfy { $0 }
    }

    var text: String {
        let parts = [
            measure, figures.map(\.text).joined(separator: ", "), spread, details, what,
            count > 0 ? "\(counted) \(count)" : "",
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: "  ")
    }

    /// Returns a comparison of one property.
    ///
    /// - Parameters:
    ///   - bar: The highest allowed ratio; nil without a requirement.
    ///   - show: Formats the property as text.
    static func ratio(
        _ measure: String, of property: KeyPath<Sample, Double>, in series: Series, bar: Double?, what: String,
        show: (Double) -> String
    ) -> Finding {
        let medians = series.medians(property)
        let values = medians.map { "\($0.name) \(show($0.median))" }.joined(separator: ", ")
        let details = [values] + series.absences
        guard let ratios = series.ratios(property) else {
            return Finding(
                measure: measure, what: what, figures: [],
                details: (["no other program to compare with"] + details).joined(separator: "; "),
                medians: Dictionary(medians.map { ($0.name, $0.median) }, uniquingKeysWith: { $1 }), count: series.pairs
            )
        }
        return .ratio(
            measure, ratios, bar: bar, what: what, against: series.rivals.joined(separator: ", "),
            details: details.joined(separator: "; "), medians: medians)
    }

    /// Returns a finding of the median of these ratios, with their spread.
    static func ratio(
        _ measure: String, _ ratios: [Double], bar: Double?, what: String, against: String, details: String,
        medians: [(name: String, median: Double)]
    ) -> Finding {
        Finding(
            measure: measure, what: what, against: against,
            figures: [Figure(name: "ratio", value: ratios.median, unit: "", bar: bar)],
            spread: Text.spread(ratios), details: details,
            medians: Dictionary(medians.map { ($0.name, $0.median) }, uniquingKeysWith: { $1 }), count: ratios.count)
    }

    /// Returns the row of a measurement that this machine can't run.
    static func missing(_ measure: String, _ what: String, _ reason: String) -> Finding {
        Finding(measure: measure, what: what, figures: [], details: "not measured: \(reason)", count: 0)
    }

    private enum CodingKeys: String, CodingKey {
        case measure, what, against, figures, spread, details, medians, count, counted, met
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(measure, forKey: .measure)
        try container.encode(what, forKey: .what)
        try container.encode(against, forKey: .against)
        try container.encode(figures, forKey: .figures)
        try container.encode(spread, forKey: .spread)
        try container.encode(details, forKey: .details)
        try container.encode(medians, forKey: .medians)
        try container.encode(count, forKey: .count)
        try container.encode(counted, forKey: .counted)
        try container.encode(isMet, forKey: .met)
    }
}

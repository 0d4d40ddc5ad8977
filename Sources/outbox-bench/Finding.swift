/// What a measure found, ready to be printed.
struct Finding: Encodable {
    /// One number and what it has to be.
    struct Figure: Encodable {
        let name: String
        let value: Double
        let unit: String
        /// The most it may be; nil where nothing is demanded.
        let bar: Double?

        var text: String {
            let decimals = unit == "s" || unit.isEmpty ? 2 : 1
            let suffix = unit.isEmpty ? "" : " \(unit)"
            let limit = bar.map { " (bar ≤ \(Text.fixed($0, decimals))\(suffix))" } ?? ""
            return "\(name) \(Text.fixed(value, decimals))\(suffix)\(limit)"
        }
    }

    /// As in the list of measures: `P1`.
    let measure: String
    let figures: [Figure]
    /// What was measured, and the values the figures are made of.
    let details: String
    /// The median of each contender, in seconds or bytes; empty where nothing is compared.
    var medians: [String: Double] = [:]
    /// How many pairs or drops there were.
    let count: Int

    var text: String {
        let parts = [measure, figures.map(\.text).joined(separator: ", "), details]
        return parts.filter { !$0.isEmpty }.joined(separator: "  ")
    }

    /// A comparison of one property.
    ///
    /// - Parameter show: turns the property into text.
    static func ratio(
        _ measure: String, of property: KeyPath<Sample, Double>, in series: Series, bar: Double, what: String,
        show: (Double) -> String
    ) -> Finding {
        let ratios = series.ratios(property)
        let figures = ratios.map { [Figure(name: "ratio", value: $0.median, unit: "", bar: bar)] } ?? []
        let spread = ratios.map { "[\(Text.fixed($0.min() ?? 0, 2))–\(Text.fixed($0.max() ?? 0, 2))]" }
        let medians = series.medians(property)
        let values = medians.map { "\($0.name) \(show($0.median))" }.joined(separator: ", ")
        let pairs = series.samples.first?.samples.count ?? 0
        return Finding(
            measure: measure, figures: figures,
            details: "\(spread ?? "nothing to compare with")  \(values)  \(what)  pairs \(pairs)",
            medians: Dictionary(medians.map { ($0.name, $0.median) }, uniquingKeysWith: { $1 }), count: pairs)
    }
}

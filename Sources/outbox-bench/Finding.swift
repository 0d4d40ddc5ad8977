/// The result of a measurement, ready for printing.
struct Finding: Encodable {
    /// A number and its limit.
    struct Figure: Encodable {
        let name: String
        let value: Double
        let unit: String
        /// The highest allowed value; nil without a requirement.
        let bar: Double?

        var text: String {
            let decimals = unit == "s" || unit.isEmpty ? 2 : 1
            let suffix = unit.isEmpty ? "" : " \(unit)"
            let limit = bar.map { " (bar ≤ \(Text.fixed($0, decimals))\(suffix))" } ?? ""
            return "\(name) \(Text.fixed(value, decimals))\(suffix)\(limit)"
        }
    }

    /// The name in the list of measurements: `P1`.
    let measure: String
    let figures: [Figure]
    /// The measured quantity, and the values behind the figures.
    let details: String
    /// The median of each contender, in seconds or bytes; empty without a comparison.
    var medians: [String: Double] = [:]
    /// The number of pairs or drops.
    let count: Int

    var text: String {
        let parts = [measure, figures.map(\.text).joined(separator: ", "), details]
        return parts.filter { !$0.isEmpty }.joined(separator: "  ")
    }

    /// Returns a comparison of one property.
    ///
    /// - Parameter show: Formats the property as text.
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
            details: "\(spread ?? "no other program to compare with")  \(values)  \(what)  pairs \(pairs)",
            medians: Dictionary(medians.map { ($0.name, $0.median) }, uniquingKeysWith: { $1 }), count: pairs)
    }
}

/// Findings as a Markdown table with aligned columns, like the one in docs/performance.md.
enum Table {
    private static let heads = ["", "measure", "against", "bar", "met", "seen"]

    /// Returns the lines of the table, in the order of the measures' numbers.
    static func lines(_ findings: [Finding]) -> [String] {
        let numbered = findings.enumerated().map { (number: number(of: $1), index: $0, finding: $1) }
        let ordered = numbered.sorted { ($0.number, $0.index) < ($1.number, $1.index) }.map(\.finding)
        let rows = [heads] + ordered.map(row)
        // The last column is not padded, because its texts have very different lengths.
        let widths = heads.indices.map { column in
            column == heads.count - 1 ? heads[column].count : rows.map { $0[column].count }.max() ?? 0
        }
        var lines = rows.map { row in
            "| " + row.indices.map { padded(row[$0], to: widths[$0]) }.joined(separator: " | ") + " |"
        }
        lines.insert("|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|", at: 1)
        return lines
    }

    /// Returns 4 for `P4`; measures without a number come last.
    private static func number(of finding: Finding) -> Int {
        Int(finding.measure.drop { $0 == "P" }.prefix(while: \.isNumber)) ?? .max
    }

    private static func row(_ finding: Finding) -> [String] {
        let bars = finding.figures.compactMap { figure in
            figure.limit.map { finding.figures.count > 1 ? "\(figure.name) \($0)" : $0 }
        }
        var seen = finding.figures.map(\.seen)
        if !seen.isEmpty, !finding.spread.isEmpty { seen[0] += " \(finding.spread)" }
        return [
            finding.measure, finding.what, finding.against ?? "–", bars.isEmpty ? "–" : bars.joined(separator: ", "),
            finding.isMet.map { $0 ? "yes" : "no" } ?? "–",
            (seen + [finding.details]).filter { !$0.isEmpty }.joined(separator: ", "),
        ]
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}

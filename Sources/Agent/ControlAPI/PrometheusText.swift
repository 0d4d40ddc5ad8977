/// Writes metrics in the text format of Prometheus 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats).
struct PrometheusText: Sendable {
    /// The type of a metric.
    enum Kind: String, Sendable {
        /// Starts at 0 with the process and only grows.
        case counter
        /// Rises and falls.
        case gauge
    }

    /// One value of a metric.
    struct Sample: Sendable {
        var labels: [(name: String, value: String)] = []
        var value: Double
    }

    /// The content type of the format.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The prefix of all metric names.
    static let prefix = "outbox_"

    private(set) var text = ""

    /// Writes a metric with one value.
    mutating func add(_ kind: Kind, _ name: String, _ value: Double, _ help: String) {
        add(kind, name, [Sample(value: value)], help)
    }

    /// Writes a metric with one value.
    mutating func add(_ kind: Kind, _ name: String, _ value: some BinaryInteger, _ help: String) {
        add(kind, name, Double(value), help)
    }

    /// Writes a metric.
    ///
    /// - Parameters:
    ///   - name: the name without prefix. Ends in the unit; for a counter, in `_total`.
    ///   - samples: distinguished by their labels. Without samples, nothing is written.
    ///   - help: one sentence.
    mutating func add(_ kind: Kind, _ name: String, _ samples: [Sample], _ help: String) {
        guard !samples.isEmpty else { return }
        let name = Self.prefix + name
        text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples { text += "\(name)\(Self.labels(sample.labels)) \(Self.number(sample.value))\n" }
    }

    private static func labels(_ labels: [(name: String, value: String)]) -> String {
        guard !labels.isEmpty else { return "" }
        return "{" + labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ",") + "}"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Writes whole numbers without a fraction, as far as a Double represents them exactly.
    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return value == value.rounded() && abs(value) < 9_007_199_254_740_992 ? String(Int64(value)) : "\(value)"
    }
}

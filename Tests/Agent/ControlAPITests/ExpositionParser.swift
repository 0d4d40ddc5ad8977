/// A strict parser of Prometheus's text format 0.0.4: unknown syntax is an error.
struct ExpositionParser {
    struct Metric: Equatable {
        var help: String
        var type: String
        var samples: [Sample] = []
    }

    struct Sample: Equatable {
        var labels: [String: String]
        var value: Double
    }

    struct Malformed: Error, CustomStringConvertible {
        var description: String
    }

    private(set) var metrics: [String: Metric] = [:]
    /// The metric of the current line. All lines of one metric must be contiguous.
    private var current: (name: String, help: String)?

    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Malformed(description: "no line feed at the end") }
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            try read(String(line))
        }
        for (name, metric) in metrics where metric.samples.isEmpty {
            throw Malformed(description: "\(name) has no sample")
        }
    }

    private mutating func read(_ line: String) throws {
        if line.hasPrefix("# HELP ") {
            let (name, help) = try Self.split(line.dropFirst(7))
            guard metrics[name] == nil, current?.name != name else {
                throw Malformed(description: "HELP twice: \(name)")
            }
            guard !help.isEmpty else { throw Malformed(description: "empty HELP: \(line)") }
            _ = try Self.unescaped(help, quotes: false)
            current = (name, help)
        } else if line.hasPrefix("# TYPE ") {
            let (name, type) = try Self.split(line.dropFirst(7))
            guard let current, current.name == name, metrics[name] == nil else {
                throw Malformed(description: "TYPE without HELP before it, or twice: \(line)")
            }
            guard ["counter", "gauge"].contains(type) else { throw Malformed(description: "unknown type: \(line)") }
            metrics[name] = Metric(help: current.help, type: type)
        } else {
            try readSample(line)
        }
    }

    private mutating func readSample(_ line: String) throws {
        let name = String(line.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":") })
        guard let first = name.first, !first.isNumber, name == current?.name, metrics[name] != nil else {
            throw Malformed(description: "a sample away from its HELP and TYPE: \(line)")
        }
        var rest = line.dropFirst(name.count)
        let labels = rest.first == "{" ? try Self.labels(&rest) : [:]
        guard rest.first == " ", let value = Self.number(String(rest.dropFirst())) else {
            throw Malformed(description: "no value: \(line)")
        }
        guard metrics[name]?.samples.contains(where: { $0.labels == labels }) == false else {
            throw Malformed(description: "the same labels twice: \(line)")
        }
        metrics[name]?.samples.append(Sample(labels: labels, value: value))
    }

    private static func number(_ text: String) -> Double? {
        switch text {
        case "NaN": return .nan
        case "+Inf": return .infinity
        case "-Inf": return -.infinity
        default:
            guard text.allSatisfy({ $0.isASCII && ($0.isNumber || "+-.eE".contains($0)) }) else { return nil }
            return Double(text)
        }
    }

    private static func split(_ text: Substring) throws -> (String, String) {
        guard let blank = text.firstIndex(of: " ") else { throw Malformed(description: "nothing after \(text)") }
        return (String(text[..<blank]), String(text[text.index(after: blank)...]))
    }

    /// `{name="value",…}`
    private static func labels(_ rest: inout Substring) throws -> [String: String] {
        var labels: [String: String] = [:]
        repeat {
            rest.removeFirst()
            let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
            rest = rest.dropFirst(name.count)
            guard let first = name.first, !first.isNumber, rest.hasPrefix("=\"") else {
                throw Malformed(description: "a label without a name or value: \(rest)")
            }
            rest = rest.dropFirst(2)
            var raw = ""
            while let next = rest.popFirst(), next != "\"" {
                raw.append(next)
                if next == "\\", let escaped = rest.popFirst() { raw.append(escaped) }
            }
            guard labels.updateValue(try unescaped(raw, quotes: true), forKey: String(name)) == nil else {
                throw Malformed(description: "a label twice: \(name)")
            }
        } while rest.first == ","
        guard rest.popFirst() == "}" else { throw Malformed(description: "labels without an end") }
        return labels
    }

    private static func unescaped(_ text: String, quotes: Bool) throws -> String {
        var result = ""
        var rest = text[...]
        while let next = rest.popFirst() {
            guard next == "\\" else {
                result.append(next)
                continue
            }
            switch rest.popFirst() {
            case "\\": result.append("\\")
            case "n": result.append("\n")
            case "\"" where quotes: result.append("\"")
            case let other: throw Malformed(description: "an escape that is none: \\\(other.map(String.init) ?? "")")
            }
        }
        return result
    }
}

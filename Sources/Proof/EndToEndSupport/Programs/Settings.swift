/// The settings of a test in `agent.toml`, by dotted key: `["upload.retry_interval": "1s"]`.
package typealias Settings = [String: Setting]

/// One value of the configuration.
package enum Setting: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByStringInterpolation
{
    case string(String)
    case integer(Int)
    case boolean(Bool)
    case list([String])

    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
    package init(arrayLiteral elements: String...) { self = .list(elements) }

    var toml: String {
        switch self {
        case .string(let value): Self.quoted(value)
        case .integer(let value): String(value)
        case .boolean(let value): String(value)
        case .list(let values): "[" + values.map(Self.quoted).joined(separator: ", ") + "]"
        }
    }

    private static func quoted(_ value: String) -> String {
        "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// Returns the whole file: plain keys first, then a table per section.
    static func document(_ settings: Settings) -> String {
        var sections: [String: [String]] = [:]
        for (key, value) in settings.sorted(by: { $0.key < $1.key }) {
            let parts = key.split(separator: ".", maxSplits: 1)
            let section = parts.count == 2 ? String(parts[0]) : ""
            sections[section, default: []].append("\(parts[parts.count - 1]) = \(value.toml)")
        }
        return sections.sorted { $0.key < $1.key }.map { section, lines in
            (section.isEmpty ? [] : ["[\(section)]"]) + lines
        }.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n")
    }
}

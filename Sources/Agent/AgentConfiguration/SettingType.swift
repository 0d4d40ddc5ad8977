import Text

/// Why a value was rejected, and what to write instead.
package struct Objection: Error, Sendable, Equatable {
    package let reason: String
    /// The invalid element of an array, counted from 0.
    var element: Int?

    package init(_ reason: String, element: Int? = nil) {
        self.reason = reason
        self.element = element
    }
}

/// How to parse the text of an environment variable.
enum SettingForm: Sendable {
    case string, integer, number, boolean
    /// An integer, or a string with this word.
    case integerOr(String)
    /// A TOML array, or elements separated by these characters.
    case list(separators: Set<Character>)
}

/// The type of a key: the permitted values and their conversion.
struct SettingType<Value: Sendable>: Sendable {
    let form: SettingForm
    /// The permitted values, for the documentation: `integer, 1 … 64`.
    let name: String
    let read: @Sendable (SettingValue, PathResolver) throws(Objection) -> Value
    let show: @Sendable (Value) -> SettingValue
}

extension SettingType {
    /// A type that is written as a string.
    init(
        string name: String, read: @escaping @Sendable (String, PathResolver) throws(Objection) -> Value,
        show: @escaping @Sendable (Value) -> String
    ) {
        self.init(form: .string, name: name) { value, resolver throws(Objection) in
            guard case .string(let text) = value else { throw .wrongType(value, expected: "a string") }
            return try read(text, resolver)
        } show: {
            .string(show($0))
        }
    }

    /// Another type, or a string (`""`, `"0"`) that means "none".
    static func noneOr<Wrapped>(_ type: SettingType<Wrapped>, none: String) -> SettingType where Value == Wrapped? {
        SettingType(form: type.form.accepting(none), name: "\(type.name), or `\"\(none)\"`") {
            value, resolver throws(Objection) in
            if value == .string(none) || value.description == none { return nil }
            if case .integer = type.form, case .string(let text) = value {
                throw Objection("must be an integer or \(none.quoted), is \(text.shortened.quoted)")
            }
            return try type.read(value, resolver)
        } show: { value in
            value.map(type.show) ?? .string(none)
        }
    }
}

extension Objection {
    static func wrongType(_ value: SettingValue, expected: String) -> Objection {
        Objection("must be \(expected), is \(value.typeName)")
    }
}

extension SettingType<Bool> {
    static let boolean = SettingType(form: .boolean, name: "`true` or `false`") { value, _ throws(Objection) in
        guard case .boolean(let flag) = value else { throw .wrongType(value, expected: "true or false") }
        return flag
    } show: {
        .boolean($0)
    }
}

extension SettingType<Int> {
    static func integer(_ range: ClosedRange<Int>) -> SettingType {
        let bounds = "\(range.lowerBound) … \(range.upperBound)"
        return SettingType(form: .integer, name: "integer, \(bounds)") { value, _ throws(Objection) in
            guard case .integer(let number) = value else { throw .wrongType(value, expected: "an integer") }
            guard range.contains(number) else { throw Objection("must be \(bounds), is \(number)") }
            return number
        } show: {
            .integer($0)
        }
    }
}

extension SettingType<Double> {
    /// The quality of a JPEG: above 0, at most 1.
    static let quality = SettingType(form: .number, name: "number, above 0, at most 1") { value, _ throws(Objection) in
        let quality: Double
        switch value {
        case .number(let number): quality = number
        case .integer(let number): quality = Double(number)
        default: throw .wrongType(value, expected: "a number")
        }
        guard quality > 0, quality <= 1 else {
            throw Objection("must be above 0 and at most 1, is \(value.description.shortened)")
        }
        return quality
    } show: {
        .number($0)
    }
}

extension SettingType<Duration> {
    static func duration(_ range: ClosedRange<Duration>) -> SettingType {
        let bounds = Units.spell(range)
        return SettingType(form: .string, name: "duration, \(bounds)") { value, _ throws(Objection) in
            let text: String
            switch value {
            case .string(let string): text = string
            case .integer(let number): text = String(number)
            default: throw .wrongType(value, expected: "a duration such as \"30s\"")
            }
            guard let duration = Units.duration(text) else {
                throw Objection(
                    "must be a duration such as \"250ms\", \"30s\", \"2m\", \"24h\" or \"30d\", is \(value.description.shortened)"
                )
            }
            guard range.contains(duration) else {
                throw Objection("must be \(bounds), is \(value.description.shortened)")
            }
            return duration
        } show: {
            .string(Units.spell($0))
        }
    }
}

extension SettingType<UInt64> {
    static func size(_ range: ClosedRange<UInt64>) -> SettingType {
        let bounds = Units.spell(range)
        return SettingType(form: .string, name: "size, \(bounds)") { value, _ throws(Objection) in
            let text: String
            switch value {
            case .string(let string): text = string
            case .integer(let number): text = String(number)
            default: throw .wrongType(value, expected: "a size such as \"512KiB\"")
            }
            guard let size = Units.size(text) else {
                throw Objection(
                    "must be a size such as \"512KiB\", \"64MiB\" or \"10GiB\", is \(value.description.shortened)")
            }
            guard range.contains(size) else { throw Objection("must be \(bounds), is \(value.description.shortened)") }
            return size
        } show: {
            .string(Units.spell($0))
        }
    }
}

extension SettingType where Value: RawRepresentable<String> & CaseIterable {
    /// One of a fixed set of words.
    static var word: SettingType {
        let words = Value.allCases.map(\.rawValue)
        return SettingType(string: words.map { "`\"\($0)\"`" }.joined(separator: ", ")) { text, _ throws(Objection) in
            if let value = Value(rawValue: text) { return value }
            let hint = Spelling.nearest(to: text, among: words).map { "; did you mean \"\($0)\"?" } ?? ""
            let choice = words.map { "\"\($0)\"" }.joined(separator: ", ")
            throw Objection("must be one of \(choice), is \(text.shortened.quoted)\(hint)")
        } show: {
            $0.rawValue
        }
    }
}

extension SettingType<Configuration.PathStyle> {
    /// `true`, `false`, or `"auto"`.
    static let flagOrAuto = SettingType(form: .string, name: "`true`, `false` or `\"auto\"`") {
        value, _ throws(Objection) in
        let text =
            switch value {
            case .boolean(let flag): flag ? "true" : "false"
            case .string(let text): text
            default: throw .wrongType(value, expected: "true, false or \"auto\"")
            }
        guard let style = Configuration.PathStyle(rawValue: text) else {
            throw Objection("must be true, false or \"auto\", is \(text.shortened.quoted)")
        }
        return style
    } show: {
        $0 == .auto ? .string("auto") : .boolean($0 == .always)
    }
}

extension String {
    /// The text, shortened for error messages.
    package var shortened: String { count <= 60 ? self : prefix(60) + "…" }
}

internal import TOMLKit
import UploadCore

/// The TOML value of a key, for parsing and printing.
package enum SettingValue: Sendable, Equatable {
    case string(String)
    case integer(Int)
    case number(Double)
    case boolean(Bool)
    case list([SettingValue])
    /// A TOML type that no key has, by name.
    case foreign(String)

    /// The name of the type in messages.
    package var typeName: String {
        switch self {
        case .string: "a string"
        case .integer: "an integer"
        case .number: "a number"
        case .boolean: "a boolean"
        case .list: "an array"
        case .foreign(let name): "a \(name)"
        }
    }
}

extension SettingValue {
    init(_ toml: any TOMLValueConvertible) {
        switch toml.type {
        case .string: self = .string(toml.string ?? "")
        case .int: self = .integer(toml.int ?? 0)
        case .double: self = .number(toml.double ?? .nan)
        case .bool: self = .boolean(toml.bool ?? false)
        case .array: self = .list((toml.array.map(Array.init) ?? []).map(SettingValue.init))
        case .table, .date, .time, .dateTime: self = .foreign(toml.type.description)
        }
    }
}

extension SettingValue: CustomStringConvertible {
    /// The value in the syntax of `agent.toml`, on one line.
    package var description: String {
        switch self {
        case .string(let text): text.quoted
        case .integer(let number): String(number)
        case .number(let number): String(number)
        case .boolean(let flag): String(flag)
        case .list(let elements): "[" + elements.map(\.description).joined(separator: ", ") + "]"
        case .foreign(let name): name
        }
    }
}

extension SettingValue: Encodable {
    /// Encodes the bare value.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let text): try container.encode(text)
        case .integer(let number): try container.encode(number)
        case .number(let number): try container.encode(number)
        case .boolean(let flag): try container.encode(flag)
        case .list(let elements): try container.encode(elements)
        case .foreign(let name): try container.encode(name)
        }
    }
}

extension String {
    /// The text as a basic TOML string in quotes. Control and format characters are escaped, so that they can't break
    /// a line or a terminal.
    package var quoted: String {
        var result = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case _ where scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format:
                result += "\\U" + scalar.value.hexadecimal
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// The text as part of a key: bare if TOML allows it, otherwise quoted and shortened.
    package var asKeyPart: String {
        let isBare = utf8.allSatisfy { KeyLines.isBareKeyByte($0) } && !isEmpty
        return isBare && utf8.count <= 80 ? self : String(prefix(60)).quoted
    }
}

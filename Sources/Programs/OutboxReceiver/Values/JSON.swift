/// A JSON value (RFC 8259).
///
/// Requests and replies are small and have few shapes, so the server converts them by hand. This costs a tenth of
/// `Codable`, and every fragment pays the cost.
enum JSON: Equatable, Sendable {
    struct Member: Equatable, Sendable {
        let name: String
        let value: JSON
    }

    case null
    case boolean(Bool)
    /// A number without fraction and exponent that fits into 64 bits.
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    /// The members in their written order.
    case object([Member])

    /// Returns the last member with this name. Returns nil if the member is missing or null, or the value is no
    /// object.
    subscript(name: String) -> JSON? {
        // By bytes: `==` takes other spellings of a name for equal.
        guard case .object(let members) = self,
            let value = members.last(where: { $0.name.utf8.elementsEqual(name.utf8) })?.value
        else { return nil }
        if case .null = value { return nil }
        return value
    }

    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var array: [JSON]? {
        if case .array(let values) = self { values } else { nil }
    }

    /// The number as an integer, also for a whole number written like `1e3`.
    var integer: Int64? {
        switch self {
        case .integer(let number): number
        case .number(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// Any number.
    var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    /// All elements as strings. Nil if the value is no array or any element is no string.
    var strings: [String]? {
        guard let array else { return nil }
        var strings: [String] = []
        for value in array {
            guard case .string(let text) = value else { return nil }
            strings.append(text)
        }
        return strings
    }

    /// The value as text, without spaces.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    private func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .boolean(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let number): bytes.append(contentsOf: String(number).utf8)
        case .number(let number): bytes.append(contentsOf: (number.isFinite ? "\(number)" : "null").utf8)
        case .string(let text): Self.append(text, to: &bytes)
        case .array(let values):
            Self.append(values, "[", "]", to: &bytes) { value, bytes in value.append(to: &bytes) }
        case .object(let members):
            Self.append(members, "{", "}", to: &bytes) { member, bytes in
                Self.append(member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.append(to: &bytes)
            }
        }
    }

    private static func append<Item>(
        _ items: [Item], _ opening: Unicode.Scalar, _ closing: Unicode.Scalar, to bytes: inout [UInt8],
        _ body: (Item, inout [UInt8]) -> Void
    ) {
        bytes.append(UInt8(ascii: opening))
        for (index, item) in items.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            body(item, &bytes)
        }
        bytes.append(UInt8(ascii: closing))
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                bytes.append(contentsOf: byte < 0x10 ? "\\u000".utf8 : "\\u00".utf8)
                bytes.append(contentsOf: String(byte, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

extension JSON: ExpressibleByDictionaryLiteral, ExpressibleByStringLiteral {
    init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member(name: $0.0, value: $0.1) })
    }

    init(stringLiteral value: String) {
        self = .string(value)
    }
}

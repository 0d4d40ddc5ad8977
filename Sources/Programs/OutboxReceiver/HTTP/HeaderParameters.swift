/// A header field's value with its parameters, such as `form-data; name="a"; filename="b.jpg"` (RFC 9110, 5.6.6).
struct HeaderParameters {
    /// The value without parameters, in lower case.
    let value: String
    private var parameters: [String: String] = [:]

    /// Returns nil if the field is malformed, names a parameter twice, or is not stream-safe.
    init?(_ field: some StringProtocol) {
        guard field.isStreamSafe else { return nil }
        // Bytes, since every request has two such fields, and characters take many times as long.
        var rest = Substring(field).utf8[...]
        value = Substring(Self.trimmed(rest.prefix { $0 != Self.semicolon })).lowercased()
        rest = rest.drop { $0 != Self.semicolon }
        while rest.first == Self.semicolon {
            rest = rest.dropFirst().drop(while: Self.isBlank)
            if rest.isEmpty { break }
            guard let equals = rest.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let name = Substring(rest[..<equals]).lowercased()
            rest = rest[rest.index(after: equals)...]
            guard let text = Self.parameterValue(&rest), parameters.updateValue(text, forKey: name) == nil else {
                return nil
            }
            rest = rest.drop(while: Self.isBlank)
        }
        guard rest.isEmpty else { return nil }
    }

    subscript(name: String) -> String? { parameters[name] }

    private static let semicolon = UInt8(ascii: ";")
    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func parameterValue(_ rest: inout Substring.UTF8View) -> String? {
        guard rest.first == UInt8(ascii: "\"") else {
            let token = trimmed(rest.prefix { $0 != semicolon })
            rest = rest.drop { $0 != semicolon }
            return token.isEmpty ? nil : String(Substring(token))
        }
        rest = rest.dropFirst()
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { return nil }
                text.append(escaped)
            default: text.append(byte)
            }
        }
        return nil
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        let head = text.drop(while: isBlank)
        guard let last = head.lastIndex(where: { !isBlank($0) }) else { return head.prefix(0) }
        return head[...last]
    }
}

/// The boundary of a multipart body (RFC 2046, 5.1.1).
struct MultipartBoundary {
    let text: String

    init?(contentType: String) {
        guard let type = HeaderParameters(contentType), type.value == "multipart/form-data",
            let text = type["boundary"], (1...70).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x20...0x7e).contains($0) }), text.last != " "
        else { return nil }
        self.text = text
    }
}

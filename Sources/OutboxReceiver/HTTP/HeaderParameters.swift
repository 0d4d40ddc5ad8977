/// A header field's value with its parameters, such as `form-data; name="a"; filename="b.jpg"` (RFC 9110, 5.6.6).
struct HeaderParameters {
    /// The value without parameters, in lower case.
    let value: String
    private var parameters: [String: String] = [:]

    /// Returns nil if the field is malformed or names a parameter twice.
    init?(_ field: some StringProtocol) {
        var rest = Substring(field)
        value = Self.trimmed(rest.prefix { $0 != ";" }).lowercased()
        rest = rest.drop { $0 != ";" }
        while rest.first == ";" {
            rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
            if rest.isEmpty { break }
            guard let equals = rest.firstIndex(of: "=") else { return nil }
            let name = rest[..<equals].lowercased()
            rest = rest[rest.index(after: equals)...]
            guard let text = Self.parameterValue(&rest), parameters.updateValue(text, forKey: name) == nil else {
                return nil
            }
            rest = rest.drop { $0 == " " || $0 == "\t" }
        }
        guard rest.isEmpty else { return nil }
    }

    subscript(name: String) -> String? { parameters[name] }

    private static func parameterValue(_ rest: inout Substring) -> String? {
        guard rest.first == "\"" else {
            let token = trimmed(rest.prefix { $0 != ";" })
            rest = rest.drop { $0 != ";" }
            return token.isEmpty ? nil : String(token)
        }
        rest = rest.dropFirst()
        var text = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"": return text
            case "\\":
                guard let escaped = rest.popFirst() else { return nil }
                text.append(escaped)
            default: text.append(character)
            }
        }
        return nil
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let head = text.drop { $0 == " " || $0 == "\t" }
        guard let last = head.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
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

/// An element of a reply's XML: the subset that S3 uses, without attributes and document types.
///
/// Elements have local names: a namespace's prefix is dropped. The text is that of the element alone, without its
/// children's.
struct XMLElement: Equatable, Sendable {
    /// The name without a prefix.
    var name: String
    /// The text, with entities resolved and without white space at both ends.
    var text: String
    /// The child elements, in order.
    var children: [XMLElement] = []

    /// Parses a document.
    ///
    /// - Returns: nil if the bytes are no well-formed document of the subset, or are nested more than 16 deep.
    init?(_ document: [UInt8]) {
        var parser = XMLParser(document)
        guard let root = parser.document() else { return nil }
        self = root
    }

    fileprivate init(name: String) {
        self.name = name
        text = ""
    }

    /// The text of the first child with a name; nil without such a child.
    subscript(name: String) -> String? { children.first { $0.name == name }?.text }

    /// Returns a text with the characters escaped that XML reserves.
    static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.append(character)
            }
        }
    }
}

/// Reads the bytes of a document once, front to back.
private struct XMLParser {
    private static let greatestDepth = 16

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func document() -> XMLElement? {
        // A byte order mark, and the blanks that keep a slow CompleteMultipartUpload alive.
        _ = skip("\u{FEFF}")
        guard skipMisc(), skip("<"), let root = element(depth: 0), skipMisc(), position == bytes.count else {
            return nil
        }
        return root
    }

    /// Skips white space, comments and processing instructions.
    private mutating func skipMisc() -> Bool {
        while true {
            while let byte = current, Self.isBlank(byte) { position += 1 }
            if skip("<?") {
                guard skip(through: "?>") else { return false }
            } else if skip("<!--") {
                guard skip(through: "-->") else { return false }
            } else {
                return true
            }
        }
    }

    /// Parses an element after its `<`.
    private mutating func element(depth: Int) -> XMLElement? {
        guard depth < Self.greatestDepth, let tag = tagName(), let isEmpty = skipAttributes() else { return nil }
        var element = XMLElement(name: Self.localName(tag))
        var text: [UInt8] = []
        while !isEmpty {
            if skip("</") {
                guard tagName() == tag else { return nil }
                while let byte = current, Self.isBlank(byte) { position += 1 }
                guard skip(">") else { return nil }
                break
            } else if skip("<!--") {
                guard skip(through: "-->") else { return nil }
            } else if skip("<![CDATA[") {
                let start = position
                guard skip(through: "]]>") else { return nil }
                text += bytes[start..<position - 3]
            } else if skip("<?") {
                guard skip(through: "?>") else { return nil }
            } else if skip("<") {
                guard let child = self.element(depth: depth + 1) else { return nil }
                element.children.append(child)
            } else if skip("&") {
                guard let scalar = entity() else { return nil }
                text += Array(String(scalar).utf8)
            } else if let byte = current {
                text.append(byte)
                position += 1
            } else {
                return nil
            }
        }
        guard let decoded = String(validating: text.trimming(Self.isBlank), as: UTF8.self) else { return nil }
        element.text = decoded
        return element
    }

    private mutating func tagName() -> [UInt8]? {
        let start = position
        while let byte = current, !Self.isBlank(byte), !"/><=\"'&".utf8.contains(byte) { position += 1 }
        return position > start ? Array(bytes[start..<position]) : nil
    }

    /// Skips a tag's attributes and its end.
    ///
    /// - Returns: whether the tag is an empty element's; nil for a malformed tag.
    private mutating func skipAttributes() -> Bool? {
        while let byte = current {
            if Self.isBlank(byte) {
                position += 1
            } else if skip("/>") {
                return true
            } else if skip(">") {
                return false
            } else {
                guard tagName() != nil, skip("="), let quote = current, quote == 0x22 || quote == 0x27 else {
                    return nil
                }
                position += 1
                guard let end = bytes[position...].firstIndex(of: quote) else { return nil }
                position = end + 1
            }
        }
        return nil
    }

    /// Parses an entity after its `&`. An unknown entity makes the document malformed.
    private mutating func entity() -> Unicode.Scalar? {
        let rest = bytes[position...].prefix(12)
        guard let end = rest.firstIndex(of: UInt8(ascii: ";")) else { return nil }
        let name = String(decoding: rest[..<end], as: UTF8.self)
        position = end + 1
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            guard name.hasPrefix("#") else { return nil }
            let isHexadecimal = name.hasPrefix("#x")
            let digits = name.dropFirst(isHexadecimal ? 2 : 1)
            guard digits.allSatisfy(\.isHexDigit), let value = UInt32(digits, radix: isHexadecimal ? 16 : 10) else {
                return nil
            }
            return Unicode.Scalar(value)
        }
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skip(_ text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    private mutating func skip(through text: String) -> Bool {
        let mark = Array(text.utf8)
        guard let range = bytes[position...].firstRange(of: mark) else { return false }
        position = range.upperBound
        return true
    }

    private static func localName(_ tag: [UInt8]) -> String {
        let local = tag.lastIndex(of: UInt8(ascii: ":")).map { tag[($0 + 1)...] } ?? tag[...]
        return String(decoding: local, as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
}

extension [UInt8] {
    fileprivate func trimming(_ isBlank: (UInt8) -> Bool) -> [UInt8] {
        guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
            return []
        }
        return Array(self[first...last])
    }
}

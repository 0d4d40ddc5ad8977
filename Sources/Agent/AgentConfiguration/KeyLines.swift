/// The line of each key in a TOML document. The parser reports lines only for syntax errors.
///
/// Follows TOML's rules for the boundaries of keys and values (toml.io/en/v1.0.0) and ignores the values. Never
/// fails: in a document that is not TOML, lines are found up to the first error.
package struct KeyLines {
    /// Maximum nesting depth. The parser recurses, so deeper documents are refused.
    static let deepestNesting = 16

    /// Lines counted from 1, by the parts of a key's full name. The last part of an array's element is its index.
    private var lines: [[String]: Int] = [:]
    /// The first place in the text that would crash the parser.
    private(set) var hazard: Hazard?

    struct Hazard {
        let line: Int
        let reason: String
    }

    private var rest: ArraySlice<UInt8>
    private var line = 1

    init(_ text: [UInt8]) {
        rest = text[...]
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        if rest.starts(with: byteOrderMark) { rest = rest.dropFirst(3) }
        var table: [String] = []
        while skipBlank(), hazard == nil {
            if rest.first == UInt8(ascii: "[") {
                table = readHeader()
            } else {
                readPair(in: table)
            }
        }
    }

    /// The line of a key, or else of the innermost table around it.
    package subscript(path: [String]) -> Int? {
        var path = path
        while !path.isEmpty {
            if let line = lines[path] { return line }
            path.removeLast()
        }
        return nil
    }

    /// Letters, digits, `_` and `-`.
    static func isBareKeyByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x5F || byte == 0x2D
    }
}

extension KeyLines {
    /// Reads `[table]` or `[[table]]`, up to the end of the line.
    private mutating func readHeader() -> [String] {
        let start = line
        advance()
        if rest.first == UInt8(ascii: "[") { advance() }
        let table = readKey()
        // The parser asserts that a name follows.
        if table.isEmpty { refuse("is not TOML: [ must be followed by the name of a table", line: start) }
        note(table, line: start)
        skipLine()
        return table
    }

    /// Reads `key = value`; skips any other line.
    private mutating func readPair(in table: [String]) {
        let start = line
        let key = readKey()
        guard !key.isEmpty, rest.first == UInt8(ascii: "=") else { return skipLine() }
        advance()
        note(table + key, line: start)
        readValue(table + key)
    }

    /// Reads a bare, quoted or dotted key and the spaces after it.
    private mutating func readKey() -> [String] {
        var parts: [String] = []
        repeat {
            if !parts.isEmpty { advance() }
            skipSpaces()
            let part: ArraySlice<UInt8>
            if let quote = rest.first, isQuote(quote) {
                part = readString(quote).dropFirst().dropLast()
            } else {
                part = rest.prefix(while: Self.isBareKeyByte)
                rest = rest[part.endIndex...]
                if part.isEmpty { break }
            }
            parts.append(String(decoding: part, as: UTF8.self))
            skipSpaces()
        } while rest.first == UInt8(ascii: ".")
        return parts
    }

    private mutating func readValue(_ path: [String]) {
        guard path.count <= Self.deepestNesting else {
            return refuse("is nested too deeply", line: line)
        }
        skipSpaces()
        switch rest.first {
        case UInt8(ascii: "["): readArray(path)
        case UInt8(ascii: "{"): readInlineTable(path)
        case let quote? where isQuote(quote): _ = readString(quote)
        default:
            while let byte = rest.first, !",]}#\n".utf8.contains(byte) { advance() }
        }
    }

    private mutating func readArray(_ path: [String]) {
        advance()
        var index = 0
        while skipBlank(), hazard == nil, rest.first != UInt8(ascii: "]") {
            // The parser asserts that no `}` follows here.
            if rest.first == UInt8(ascii: "}") { return refuse("is not TOML: an array must end in ]", line: line) }
            let before = rest.startIndex
            note(path + ["\(index)"], line: line)
            readValue(path + ["\(index)"])
            _ = skipBlank()
            if rest.first == UInt8(ascii: ",") { advance() }
            index += 1
            if rest.startIndex == before { return skipLine() }
        }
        advance()
    }

    private mutating func readInlineTable(_ path: [String]) {
        advance()
        while skipBlank(), hazard == nil, rest.first != UInt8(ascii: "}") {
            let before = rest.startIndex
            readPair(in: path)
            _ = skipBlank()
            if rest.first == UInt8(ascii: ",") { advance() }
            if rest.startIndex == before { return skipLine() }
        }
        advance()
    }

    /// Reads a string of any of the four kinds, including its quotes.
    private mutating func readString(_ quote: UInt8) -> ArraySlice<UInt8> {
        let start = rest.startIndex
        let text = rest
        let closing = rest.starts(with: [quote, quote, quote]) ? 3 : 1
        for _ in 0..<closing { advance() }
        while let byte = rest.first {
            if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
                advance()
            } else if rest.starts(with: repeatElement(quote, count: closing)) {
                for _ in 0..<closing { advance() }
                // Up to two further quotes belong to the text: """a"""" is a".
                while closing == 3, rest.first == quote { advance() }
                break
            } else if byte == UInt8(ascii: "\n"), closing == 1 {
                break
            }
            advance()
        }
        return text[start..<rest.startIndex]
    }
}

extension KeyLines {
    private mutating func note(_ path: [String], line: Int) {
        guard path.count <= Self.deepestNesting else {
            return refuse("is nested too deeply", line: line)
        }
        // A dotted key also defines the tables around it.
        var path = path
        while !path.isEmpty, lines[path] == nil {
            lines[path] = line
            path.removeLast()
        }
    }

    private mutating func refuse(_ reason: String, line: Int) {
        hazard = hazard ?? Hazard(line: line, reason: reason)
    }

    private mutating func advance() {
        if rest.popFirst() == UInt8(ascii: "\n") { line += 1 }
    }

    private mutating func skipSpaces() {
        while rest.first == UInt8(ascii: " ") || rest.first == UInt8(ascii: "\t") { advance() }
    }

    private mutating func skipLine() {
        while let byte = rest.first, byte != UInt8(ascii: "\n") { advance() }
    }

    /// Skips spaces, newlines and comments. Returns whether any text is left.
    private mutating func skipBlank() -> Bool {
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "#"): skipLine()
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): advance()
            default: return true
            }
        }
        return false
    }

    private func isQuote(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'")
    }
}

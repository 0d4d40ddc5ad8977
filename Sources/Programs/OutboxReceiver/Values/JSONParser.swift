/// Parses a JSON text (RFC 8259) strictly: UTF-8 only, no lone surrogates, no comments, no bytes behind the value,
/// no deeper nesting and no more values than requests of this protocol need, and only texts that are stream-safe.
struct JSONParser {
    private static let deepest = 16
    /// Fifty files with all their members have a thousand. A value takes a hundred times the memory of its byte.
    private static let mostValues = 20_000

    private struct Malformed: Error {}

    private let bytes: UnsafeRawBufferPointer
    private var next = 0
    private var count = 0

    private init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Returns nil unless `bytes` hold exactly one JSON value.
    static func value(of bytes: UnsafeRawBufferPointer) -> JSON? {
        var parser = JSONParser(bytes)
        guard let value = try? parser.value(depth: 0) else { return nil }
        parser.skipSpace()
        return parser.next == bytes.count ? value : nil
    }

    static func value(of text: String) -> JSON? {
        var text = text
        return text.withUTF8 { value(of: UnsafeRawBufferPointer($0)) }
    }

    // MARK: Bytes

    private var byte: UInt8? { next < bytes.count ? bytes[next] : nil }

    private mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { next += 1 }
    }

    /// Consumes the next byte if it equals `wanted`. Returns whether it did.
    private mutating func take(_ wanted: Unicode.Scalar) -> Bool {
        guard byte == UInt8(ascii: wanted) else { return false }
        next += 1
        return true
    }

    private mutating func expect(_ text: StaticString) throws(Malformed) {
        let end = next + text.utf8CodeUnitCount
        guard end <= bytes.count,
            bytes[next..<end].elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        else { throw Malformed() }
        next = end
    }

    // MARK: Values

    private mutating func value(depth: Int) throws(Malformed) -> JSON {
        count += 1
        guard depth < Self.deepest, count <= Self.mostValues else { throw Malformed() }
        skipSpace()
        switch byte {
        case UInt8(ascii: "{"): return try object(depth)
        case UInt8(ascii: "["): return try array(depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"):
            try expect("true")
            return .boolean(true)
        case UInt8(ascii: "f"):
            try expect("false")
            return .boolean(false)
        case UInt8(ascii: "n"):
            try expect("null")
            return .null
        default: return try number()
        }
    }

    private mutating func object(_ depth: Int) throws(Malformed) -> JSON {
        next += 1
        var members: [JSON.Member] = []
        skipSpace()
        if take("}") { return .object(members) }
        while true {
            skipSpace()
            guard byte == UInt8(ascii: "\"") else { throw Malformed() }
            let name = try string()
            skipSpace()
            guard take(":") else { throw Malformed() }
            members.append(JSON.Member(name: name, value: try value(depth: depth + 1)))
            skipSpace()
            if take("}") { return .object(members) }
            guard take(",") else { throw Malformed() }
        }
    }

    private mutating func array(_ depth: Int) throws(Malformed) -> JSON {
        next += 1
        var values: [JSON] = []
        skipSpace()
        if take("]") { return .array(values) }
        while true {
            values.append(try value(depth: depth + 1))
            skipSpace()
            if take("]") { return .array(values) }
            guard take(",") else { throw Malformed() }
        }
    }

    private mutating func number() throws(Malformed) -> JSON {
        let start = next
        _ = take("-")
        if !take("0") { try digits() }
        var isInteger = true
        if take(".") {
            isInteger = false
            try digits()
        }
        if take("e") || take("E") {
            isInteger = false
            if !take("+") { _ = take("-") }
            try digits()
        }
        let text = String(decoding: bytes[start..<next], as: UTF8.self)
        if isInteger, let number = Int64(text) { return .integer(number) }
        guard let number = Double(text), number.isFinite else { throw Malformed() }
        return .number(number)
    }

    private mutating func digits() throws(Malformed) {
        let start = next
        while let byte, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { next += 1 }
        guard next > start else { throw Malformed() }
    }

    // MARK: Strings

    private mutating func string() throws(Malformed) -> String {
        next += 1
        let start = next
        while let byte, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            guard byte >= 0x20 else { throw Malformed() }
            next += 1
        }
        if byte == UInt8(ascii: "\\") { return try escapedString(from: start) }
        guard byte != nil, let text = String(validating: bytes[start..<next], as: UTF8.self), text.isStreamSafe else {
            throw Malformed()
        }
        next += 1
        return text
    }

    private mutating func escapedString(from start: Int) throws(Malformed) -> String {
        var plain = Array(bytes[start..<next])
        while let byte, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw Malformed() }
            next += 1
            guard byte == UInt8(ascii: "\\") else {
                plain.append(byte)
                continue
            }
            if let character = UTF8.encode(try escape()) { plain.append(contentsOf: character) }
        }
        guard take("\""), let text = String(validating: plain, as: UTF8.self), text.isStreamSafe else {
            throw Malformed()
        }
        return text
    }

    private mutating func escape() throws(Malformed) -> Unicode.Scalar {
        guard let code = byte else { throw Malformed() }
        next += 1
        switch code {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(code)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicodeEscape()
        default: throw Malformed()
        }
    }

    private mutating func unicodeEscape() throws(Malformed) -> Unicode.Scalar {
        let first = try fourDigits()
        guard (0xd800..<0xdc00).contains(first) else {
            guard let scalar = Unicode.Scalar(first) else { throw Malformed() }
            return scalar
        }
        try expect("\\u")
        let second = try fourDigits()
        guard (0xdc00..<0xe000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
        else { throw Malformed() }
        return scalar
    }

    private mutating func fourDigits() throws(Malformed) -> UInt32 {
        guard next + 4 <= bytes.count else { throw Malformed() }
        var number: UInt32 = 0
        for digit in bytes[next..<next + 4] {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt32(digit & 15)
            case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"):
                number = number << 4 | UInt32(digit & 15 + 9)
            default: throw Malformed()
            }
        }
        next += 4
        return number
    }
}

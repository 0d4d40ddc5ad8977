/// Percent-encoding in URLs (RFC 3986, section 2.1).
package enum PercentEncoding {
    /// The first byte of an escape.
    package static let percent = UInt8(ascii: "%")
    private static let upperDigits = Array("0123456789ABCDEF".utf8)
    private static let lowerDigits = Array("0123456789abcdef".utf8)
    /// Printable ASCII characters that RFC 3986 allows nowhere in a path or query, but people write anyway. Square
    /// brackets are not allowed either, but stay unencoded as in browsers, because servers expect them.
    private static let neverPlain = Set(" \"<>\\^`{|}".utf8)

    /// Returns the canonical form of a path or query. Escapes get upper-case digits, characters that need an escape
    /// are escaped, a `%` that begins no escape becomes `%25`, and everything else stays unchanged.
    static func canonical(_ text: Substring.UTF8View) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            if byte == percent, let value = escape(rest) {
                append(value, to: &result)
                rest.removeFirst(2)
            } else if byte == percent || byte >= 0x7F || neverPlain.contains(byte) {
                append(byte, to: &result)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    /// Returns the canonical form of one path component.
    ///
    /// `%2E` is another spelling of the dot (RFC 3986, section 6.2.2.2). Components of dots only have the same meaning
    /// for all servers in either spelling: they become `.` and `..`.
    static func canonicalPart(_ text: Substring.UTF8View) -> [UInt8] {
        let part = canonical(text)
        var rest = part[...]
        var dots = 0
        while !rest.isEmpty {
            if rest.first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
            } else if rest.starts(with: "%2E".utf8) {
                rest = rest.dropFirst(3)
            } else {
                return part
            }
            dots += 1
        }
        return dots > 2 ? part : Array(repeating: UInt8(ascii: "."), count: dots)
    }

    /// Returns a text with all bytes but unreserved characters escaped (RFC 3986, section 2.3).
    ///
    /// - Parameter keepsSlashes: whether slashes stay as well, as in a path.
    package static func escapingReserved(
        _ text: [UInt8], lowercaseDigits: Bool = false, keepsSlashes: Bool = false
    ) -> [UInt8] {
        text.reduce(into: []) { result, byte in
            switch byte {
            case UInt8(ascii: "/") where keepsSlashes: result.append(byte)
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.append(byte)
            default: append(byte, to: &result, lowercaseDigits: lowercaseDigits)
            }
        }
    }

    /// Returns a text with its escapes decoded. A `%` that begins no escape stays.
    package static func unescaped(_ text: Substring.UTF8View) -> [UInt8] {
        guard text.contains(percent) else { return Array(text) }
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            let value = byte == percent ? escape(rest) : nil
            result.append(value ?? byte)
            if value != nil { rest.removeFirst(2) }
        }
        return result
    }

    /// Appends `%XX`.
    package static func append(_ byte: UInt8, to text: inout [UInt8], lowercaseDigits: Bool = false) {
        let digits = lowercaseDigits ? lowerDigits : upperDigits
        text.append(percent)
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }

    private static func escape(_ rest: Substring.UTF8View) -> UInt8? {
        guard let high = rest.first.flatMap(digit), let low = rest.dropFirst().first.flatMap(digit) else { return nil }
        return high << 4 | low
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

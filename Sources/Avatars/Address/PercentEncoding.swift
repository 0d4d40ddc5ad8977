/// Percent-encoding as it stands in URLs (RFC 3986, section 2.1).
enum PercentEncoding {
    static let percent = UInt8(ascii: "%")
    private static let digits = Array("0123456789ABCDEF".utf8)
    /// Printable ASCII characters that RFC 3986 lets stand nowhere in a path or query, though people write them. Square
    /// brackets are no more allowed, but left alone as browsers do: servers expect them.
    private static let neverPlain = Set(" \"<>\\^`{|}".utf8)

    /// The canonical spelling of a path or query: escapes with upper-case digits, everything that needs an escape
    /// escaped, a `%` that begins none as `%25`, and everything else as it stands.
    static func canonical(_ text: ArraySlice<UInt8>) -> [UInt8] {
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

    /// The canonical spelling of one part of a path.
    ///
    /// `%2E` is another spelling of the dot (RFC 3986, section 6.2.2.2), and parts of dots alone have a meaning that
    /// all servers know in either spelling: they become `.` and `..`.
    static func canonicalPart(_ text: ArraySlice<UInt8>) -> [UInt8] {
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

    /// Makes room for `%<code>` to mean something else: each escape of this code, and each that was made room for
    /// before, gets another `25` behind its percent sign. Undone by taking one `25` out again, so it keeps different
    /// texts different.
    static func makingRoom(for code: String, in text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            result.append(byte)
            if byte != percent { continue }
            var ahead = rest
            while ahead.starts(with: "25".utf8) { ahead = ahead.dropFirst(2) }
            if ahead.starts(with: code.utf8) { result.append(contentsOf: "25".utf8) }
        }
        return result
    }

    /// Appends `%XX`.
    static func append(_ byte: UInt8, to text: inout [UInt8]) {
        text.append(percent)
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }

    private static func escape(_ rest: ArraySlice<UInt8>) -> UInt8? {
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

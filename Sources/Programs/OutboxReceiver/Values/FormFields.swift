/// The fields of a form or a query (`application/x-www-form-urlencoded`; WHATWG URL, section 5.1).
///
/// Fields are found by the bytes of their names, which need no encoding here: a table of names from outside could be made
/// costly.
struct FormFields {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    /// Returns the decoded value of the first field with this name; nil without one, or if it is no text that ``isStreamSafe``.
    subscript(name: String) -> String? {
        for field in text.utf8.split(separator: UInt8(ascii: "&")) {
            let end = field.firstIndex(of: UInt8(ascii: "=")) ?? field.endIndex
            guard field[..<end].elementsEqual(name.utf8) else { continue }
            return Self.decoded(field[end...].dropFirst())
        }
        return nil
    }

    private static func decoded(_ field: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let value = UInt8(String(Substring(digits)), radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self), text.isStreamSafe else { return nil }
        return text
    }
}

extension StringProtocol {
    /// Whether at most 30 combining characters follow one another (Unicode Standard Annex 15, Stream-Safe Text Format).
    ///
    /// Swift compares and hashes by canonical equivalence, which takes a time that grows with the square of such a run. So
    /// no other text from outside may reach `==` or a table.
    var isStreamSafe: Bool {
        var run = 0
        for scalar in unicodeScalars {
            // There is no combining character before U+0300.
            if scalar.value < 0x300 || scalar.properties.canonicalCombiningClass == .notReordered {
                run = 0
            } else {
                run += 1
                if run > 30 { return false }
            }
        }
        return true
    }
}

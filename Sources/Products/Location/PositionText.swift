/// Recognises positions in texts, whatever the field is called.
enum PositionText {
    /// Whether a text contains an ISO 6709 position (`+48.1370+011.5750/`), a sentence of a GPS receiver, a geotag
    /// (`geo:lat=48.1`), or the word latitude or longitude before a number.
    static func isFound(in text: some Collection<UInt8>) -> Bool {
        let bytes = Array(text)
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "+"), UInt8(ascii: "-"): if isPoint(bytes[index...]) { return true }
            case UInt8(ascii: "$"): if isSentence(bytes[index...]) { return true }
            case UInt8(ascii: "g"), UInt8(ascii: "G"): if isGeotag(bytes[index...]) { return true }
            case UInt8(ascii: "l"), UInt8(ascii: "L"): if isNamed(bytes[index...]) { return true }
            default: break
            }
        }
        return false
    }

    /// ISO 6709, annex H: degrees, minutes and seconds without separators, then a slash, an altitude or the end.
    private static func isPoint(_ text: ArraySlice<UInt8>) -> Bool {
        guard let latitude = number(text), [2, 4, 6].contains(latitude.whole),
            let longitude = number(text.dropFirst(latitude.length)), [3, 5, 7].contains(longitude.whole)
        else { return false }
        let next = text.dropFirst(latitude.length + longitude.length).first
        let isEnd = next == UInt8(ascii: "/") || next == UInt8(ascii: "+") || next == UInt8(ascii: "-")
        return isEnd || latitude.length > latitude.whole + 1 && longitude.length > longitude.whole + 1
    }

    /// A sign, digits, and maybe a fraction.
    private static func number(_ text: ArraySlice<UInt8>) -> (whole: Int, length: Int)? {
        guard let sign = text.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
        let whole = text.dropFirst().prefix(8).prefix { isDigit($0) }.count
        let rest = text.dropFirst(1 + whole)
        let fraction = rest.first == UInt8(ascii: ".") ? rest.dropFirst().prefix(20).prefix { isDigit($0) }.count : 0
        return (whole, 1 + whole + (fraction > 0 ? 1 + fraction : 0))
    }

    /// NMEA 0183: `$GPRMC,`, and the same with another talker.
    private static func isSentence(_ text: ArraySlice<UInt8>) -> Bool {
        let kind = text.dropFirst(3).prefix(4)
        return ["RMC,", "GGA,", "GLL,"].contains { kind.elementsEqual($0.utf8) }
    }

    private static func isGeotag(_ text: ArraySlice<UInt8>) -> Bool {
        let start = lowercased(text.prefix(7))
        if start == "geo:lat" || start == "geo:lon" { return true }
        if start.hasPrefix("gps(") || start.hasPrefix("gps (") { return true }
        guard start.hasPrefix("geo:"), let first = text.dropFirst(4).first else { return false }
        return isDigit(first) || first == UInt8(ascii: "-")
    }

    /// The word and, after up to four signs that aren't letters, a digit. One drone spells it "longtitude".
    private static func isNamed(_ text: ArraySlice<UInt8>) -> Bool {
        for word in ["latitude", "longitude", "longtitude"] where lowercased(text.prefix(word.utf8.count)) == word {
            let rest = text.dropFirst(word.utf8.count).prefix(5)
            for byte in rest {
                if isDigit(byte) { return true }
                if byte | 0x20 >= UInt8(ascii: "a"), byte | 0x20 <= UInt8(ascii: "z") { break }
            }
        }
        return false
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    private static func lowercased(_ text: ArraySlice<UInt8>) -> String {
        String(decoding: text, as: UTF8.self).lowercased()
    }
}

/// Recognises positions in texts, whatever the field is called.
enum PositionText {
    /// Whether a text contains an ISO 6709 position (`+48.1370+011.5750/`), a sentence of a GPS receiver, a geotag
    /// (`geo:lat=48.1`), the word latitude or longitude before a number, or coordinates as in ``CoordinateText``.
    ///
    /// - Parameter isFreeText: Whether two numbers with fractions alone are a position. False for values of cameras,
    ///   which contain many such numbers.
    static func isFound(in text: some Collection<UInt8>, isFreeText: Bool = true) -> Bool {
        let bytes = Array(text)
        let coordinates = CoordinateText(bytes)
        if coordinates.hasMarkedCoordinates || isFreeText && coordinates.hasPair { return true }
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

    /// Whether a text is the name of a position: `ExifGPS`, `Latitude`, `GPSLongitude`.
    static func isName(_ text: ArraySlice<UInt8>) -> Bool {
        let name = lowercased(text.prefix(40))
        return ["exifgps", "latitude", "longitude"].contains(name) || name.hasPrefix("gps") && !name.contains(" ")
    }

    /// ISO 6709, annex H: degrees, minutes and seconds without separators, then a slash, an altitude or the end. Without
    /// fractions the slash must be there, since telephone numbers look the same.
    private static func isPoint(_ text: ArraySlice<UInt8>) -> Bool {
        guard let latitude = number(text), [2, 4, 6].contains(latitude.whole),
            let longitude = number(text.dropFirst(latitude.length)), [3, 5, 7].contains(longitude.whole)
        else { return false }
        var rest = text.dropFirst(latitude.length + longitude.length)
        if let altitude = number(rest) { rest = rest.dropFirst(altitude.length) }
        if rest.first == UInt8(ascii: "/") { return true }
        return latitude.length > latitude.whole + 1 && longitude.length > longitude.whole + 1
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

    /// The word and, after up to four signs that aren't letters, a number with a fraction, with minutes (`48:8:13.7`), or
    /// in parts of degrees (`481375000`). `Dell Latitude 5420` is a computer. One drone spells it "longtitude".
    private static func isNamed(_ text: ArraySlice<UInt8>) -> Bool {
        for word in ["latitude", "longitude", "longtitude"] where lowercased(text.prefix(word.utf8.count)) == word {
            let rest = text.dropFirst(word.utf8.count)
            let gap = rest.prefix(5).prefix { !isDigit($0) && !($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A) }
            let digits = rest.dropFirst(gap.count).prefix(12).prefix { isDigit($0) }
            let behind = rest.dropFirst(gap.count + digits.count)
            if digits.count >= 6 { return true }
            guard (1...3).contains(digits.count), let mark = behind.first else { continue }
            if mark == 0xB0 || mark == 0xC2 { return true }
            let isDivided = mark == UInt8(ascii: ".") || mark == UInt8(ascii: ":") || mark == UInt8(ascii: ",")
            if isDivided, let next = behind.dropFirst().first, isDigit(next) { return true }
        }
        return false
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    private static func lowercased(_ text: ArraySlice<UInt8>) -> String {
        String(decoding: text, as: UTF8.self).lowercased()
    }
}

/// Recognises positions that devices write into texts, whatever the field is called.
enum PositionText {
    /// Whether a text contains an ISO 6709 position (`+48.1370+011.5750/`), a sentence of a GPS receiver, XMP with a
    /// position (`GPSLatitude`), or a named coordinate (`"lat": 48`, `homeLon=11.5750`, `<lat>48.1370`).
    static func isFound(in text: some Collection<UInt8>) -> Bool {
        let bytes = Array(text)
        return bytes.indices.contains { index in
            switch bytes[index] {
            case UInt8(ascii: "+"), UInt8(ascii: "-"): isPoint(bytes[index...])
            case UInt8(ascii: "$"): isSentence(bytes[index...])
            case UInt8(ascii: "G"): bytes[index...].starts(with: "GPSLatitude".utf8)
            case UInt8(ascii: ":"), UInt8(ascii: "="), UInt8(ascii: ">"): namedNumber(around: index, in: bytes) != nil
            default: false
            }
        }
    }

    /// GeoJSON (RFC 7946, section 3.1).
    private static let list = "coordinates"
    private static let blanks = Set(" \t\r\n".utf8)
    private static let quotes = Set("\"'\\".utf8)

    /// Returns the number of a coordinate, or a list of such: `"gpsLat":"48"`, `"coordinates":[11.5750,48.1370]`,
    /// `homeLat=48.1370`, or `<a:Lat>48.1370`; nil if there is none.
    ///
    /// - Parameter mark: where the colon, the equals sign or the bracket is.
    static func namedNumber(around mark: Int, in text: [UInt8]) -> Range<Int>? {
        let isJSON = text[mark] == UInt8(ascii: ":")
        let before = text[..<mark].suffix(40)
        let end = before.lastIndex { !blanks.contains($0) && !quotes.contains($0) } ?? mark
        let start = before[..<end].lastIndex { !isNameByte($0) } ?? before.startIndex - 1
        // In coded data most names are shorter.
        guard end < mark, end - start >= 3 else { return nil }
        if isJSON, start < 0 || !quotes.contains(text[start]) || !quotes.contains(text[end + 1]) { return nil }
        let whole = String(decoding: text[(start + 1)...end], as: UTF8.self)
        var name = whole.lowercased().filter { $0 != "_" }
        for prefix in ["gps", "map"] where name.hasPrefix(prefix) { name.removeFirst(prefix.count) }
        guard name == list || PositionName.isCoordinate(name) || PositionName.isCoordinate(whole) else { return nil }
        let rest = text[(mark + 1)...].prefix(60)
        let gap = rest.prefix { blanks.contains($0) || quotes.contains($0) || name == list && $0 == UInt8(ascii: "[") }
        let number = rest[gap.endIndex...].prefix { byte in
            isDigit(byte) || "+-.eE".utf8.contains(byte) || name == list && (byte == UInt8(ascii: ",") || byte == 0x20)
        }
        let isExact = number.contains(UInt8(ascii: "."))
        guard number.contains(where: isDigit), isExact || isJSON && name != list else { return nil }
        return number.startIndex..<number.endIndex
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || isDigit(byte) || byte == UInt8(ascii: "_")
    }

    /// Longer texts are no subtitles. Searching one takes 50 times its size in memory.
    static let longestSubtitle = 1 << 20

    /// Whether a subtitle is one of those that drones and dash cams write.
    static func isTelemetry(_ text: [UInt8]) -> Bool { isFound(in: text) || TelemetryText(text).hasPosition }

    /// Whether a text is the name of a position: `ExifGPS`, `Latitude`, `GPSLongitude`.
    static func isName(_ text: ArraySlice<UInt8>) -> Bool {
        let name = String(decoding: text.prefix(40), as: UTF8.self).lowercased()
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

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
}

/// Recognises positions that devices write into texts, whatever the field is called.
enum PositionText {
    /// Whether a text contains an ISO 6709 position (`+48.1370+011.5750/`), a sentence of a GPS receiver, or XMP with a
    /// position (`GPSLatitude`).
    static func isFound(in text: some Collection<UInt8>) -> Bool {
        let bytes = Array(text)
        return bytes.indices.contains { index in
            switch bytes[index] {
            case UInt8(ascii: "+"), UInt8(ascii: "-"): isPoint(bytes[index...])
            case UInt8(ascii: "$"): isSentence(bytes[index...])
            case UInt8(ascii: "G"): bytes[index...].starts(with: "GPSLatitude".utf8)
            default: false
            }
        }
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

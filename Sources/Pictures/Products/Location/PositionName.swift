/// Names of fields with coordinates, as programs put them together: `GPSLatitude`, `LRFTargetLat`, `home_lon`.
enum PositionName {
    private static let coordinates: Set = ["lat", "latitude", "lon", "lng", "longitude", "longtitude"]
    /// Other ways to name a place: a geometry as text, two grids, and a code.
    private static let places: Set = ["wkt", "utm", "mgrs", "geohash"]

    /// Returns the words of a name in lower case: `LRFTargetLat` and `lrf_target_lat` have the words `lrf`, `target`, `lat`.
    static func words(of name: some StringProtocol) -> [String] {
        var words: [String] = []
        var word = ""
        let letters = Array(name)
        for (index, letter) in letters.enumerated() {
            let isAfterSmall = index > 0 && letters[index - 1].isLowercase
            let isBeforeSmall = index + 1 < letters.count && letters[index + 1].isLowercase
            if !letter.isLetter || letter.isUppercase && (isAfterSmall || isBeforeSmall) {
                words.append(word)
                word = ""
            }
            if letter.isLetter { word += letter.lowercased() }
        }
        return (words + [word]).filter { !$0.isEmpty }
    }

    /// Whether one of the words names a coordinate: `Pos_Lat`, and neither `Latency` nor `PlateNumber`.
    static func isCoordinate(_ name: some StringProtocol) -> Bool { !coordinates.isDisjoint(with: words(of: name)) }

    /// Whether one of the words names a coordinate, or a place in another way.
    static func isPlace(_ name: some StringProtocol) -> Bool {
        !coordinates.union(places).isDisjoint(with: words(of: name))
    }

    /// Returns what `GeoLat` and `GeoLong` have in common; nil if the last word is another one. Alone, the word `long` is
    /// mostly that of a time or a length.
    static func stem(of name: some StringProtocol, before last: String) -> String? {
        let words = words(of: name)
        return words.last == last ? words.dropLast().joined(separator: "_") : nil
    }
}

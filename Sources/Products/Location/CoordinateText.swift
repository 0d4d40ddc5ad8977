/// Recognises the coordinates that people, map services and programs write into texts.
///
/// Scans bytes in one pass, without regular expressions, since the texts come from hostile files.
struct CoordinateText {
    private let text: [UInt8]

    init(_ text: [UInt8]) { self.text = text }

    /// Whether the text contains coordinates that nothing else looks like: with hemispheres (`48°08'13.7"N`,
    /// `N48.137154 E11.576124`), with both names (`Lat: 48.137154 Lon: 11.576124`), or in the address of a map.
    var hasMarkedCoordinates: Bool {
        var names: Set<Axis> = []
        for start in text.indices {
            if let axis = namedAxis(at: start) { names.insert(axis) }
            guard let number = number(at: start) else { continue }
            if isDegree(number) || isHemispherePair(number) { return true }
            if isPair(number), isAfterMapAddress(start) { return true }
        }
        return names.count == 2
    }

    /// Whether the text contains two numbers that may be a position: `48.137154, 11.576124`.
    var hasPair: Bool {
        text.indices.contains { start in
            guard let number = number(at: start) else { return false }
            return !isDrawing(start) && isPair(number)
        }
    }

    /// A number with at most three digits before the point, since no coordinate has more.
    private struct Number {
        var range: Range<Int>
        var value: Double
        /// How many digits follow the point; zeros alone count as none.
        var decimals: Int
    }

    private enum Axis { case latitude, longitude }

    // MARK: Numbers

    private func byte(_ index: Int) -> UInt8 { text.indices.contains(index) ? text[index] : 0 }

    private func isDigit(_ index: Int) -> Bool { byte(index) >= 0x30 && byte(index) <= 0x39 }

    private func isLetter(_ index: Int) -> Bool {
        let letter = byte(index) | 0x20
        return letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "z")
    }

    private func isSign(_ index: Int) -> Bool { byte(index) == UInt8(ascii: "-") || byte(index) == UInt8(ascii: "+") }

    /// Returns the number that begins at a place, not within another number, a version or a time.
    private func number(at start: Int) -> Number? {
        var end = start + (isSign(start) ? 1 : 0)
        guard isDigit(end), !isDigit(start - 1), byte(start - 1) != UInt8(ascii: ".") else { return nil }
        // The sign belongs to the number.
        if end == start, isSign(start - 1) { return nil }
        if byte(start - 1) == UInt8(ascii: ":"), isDigit(start - 2) { return nil }
        let whole = end
        while isDigit(end) { end += 1 }
        guard end - whole <= 3 else { return nil }
        var decimals = 0
        if byte(end) == UInt8(ascii: "."), isDigit(end + 1) {
            let fraction = end + 1
            end = fraction
            while isDigit(end), end - fraction < 20 { end += 1 }
            if text[fraction..<end].contains(where: { $0 != 0x30 }) { decimals = end - fraction }
            if isDigit(end) || byte(end) == UInt8(ascii: "."), isDigit(end + 1) { return nil }
        }
        guard let value = Double(String(decoding: text[start..<end], as: UTF8.self)) else { return nil }
        return Number(range: start..<end, value: value, decimals: decimals)
    }

    private func skipSpaces(_ index: Int) -> Int {
        var index = index
        while byte(index) == 0x20 || byte(index) == 0xA0 || byte(index) == 0xC2 && byte(index + 1) == 0xA0 {
            index += byte(index) == 0xC2 ? 2 : 1
        }
        return index
    }

    private func starts(_ word: String, at index: Int) -> Bool {
        guard index >= 0, index < text.count else { return false }
        return String(decoding: text[index...].prefix(word.utf8.count), as: UTF8.self).lowercased() == word
    }

    // MARK: Pairs

    /// Whether a number and the next are a position, in either order. Two values between -1 and 1 are none: they
    /// would be in the sea, and many programs write places in the picture that way.
    private func isPair(_ first: Number) -> Bool {
        guard first.decimals >= 3, let next = separated(first.range.upperBound),
            let second = number(at: next), second.decimals >= 3
        else { return false }
        if byte(second.range.upperBound) == UInt8(ascii: ":"), isDigit(second.range.upperBound + 1) { return false }
        let (small, large) = (min(abs(first.value), abs(second.value)), max(abs(first.value), abs(second.value)))
        return small <= 90 && large <= 180 && large > 1
    }

    /// Returns the place behind one separator, with spaces around it.
    private func separated(_ index: Int) -> Int? {
        var end = skipSpaces(index)
        if starts("%2c", at: end) {
            end += 3
        } else if [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "/")].contains(byte(end)) {
            end += 1
        }
        end = skipSpaces(end)
        return end > index ? end : nil
    }

    /// Whether the number is in a command of styled subtitles, such as `\pos(12.345,67.891)`.
    private func isDrawing(_ start: Int) -> Bool {
        guard byte(start - 1) == UInt8(ascii: "(") else { return false }
        var index = start - 2
        while isLetter(index) { index -= 1 }
        return index < start - 2 && byte(index) == UInt8(ascii: "\\")
    }

    /// Whether a web address with `map` comes right before.
    private func isAfterMapAddress(_ start: Int) -> Bool {
        guard ["=", "@", "/", ":"].contains(where: { byte(start - 1) == $0.utf8.first }) else { return false }
        let before = String(decoding: text[max(0, start - 120)..<start], as: UTF8.self).lowercased()
        return before.contains("map") || before.contains("geo")
    }

    // MARK: Degrees and hemispheres

    /// Degrees and minutes, or degrees with a fraction, and a hemisphere before or behind them.
    private func isDegree(_ number: Number) -> Bool {
        guard number.value <= 180, let behind = degreeSign(skipSpaces(number.range.upperBound)) else { return false }
        var end = skipSpaces(behind)
        var parts = 0
        while parts < 2, let part = self.number(at: end), let mark = minuteMark(part.range.upperBound) {
            parts += 1
            end = skipSpaces(mark)
        }
        guard parts > 0 || number.decimals >= 3 else { return false }
        return isHemisphere(end, "NSEWO") || isHemisphere(before(number), "NSEWO")
    }

    private func degreeSign(_ index: Int) -> Int? {
        if byte(index) == 0xC2, byte(index + 1) == 0xB0 || byte(index + 1) == 0xBA { return index + 2 }
        if byte(index) == 0xB0 || byte(index) == 0xBA { return index + 1 }
        return starts("deg", at: index) ? index + 3 : nil
    }

    /// Returns the place behind the sign of minutes or seconds: `'`, `"`, or typographic ones.
    private func minuteMark(_ index: Int) -> Int? {
        var end = skipSpaces(index)
        let start = end
        while byte(end) == UInt8(ascii: "'") || byte(end) == UInt8(ascii: "\"") || byte(end) == 0xE2 {
            end += byte(end) == 0xE2 ? 3 : 1
        }
        return end > start ? end : nil
    }

    /// A number with a hemisphere, and another one: `N48.137154 E11.576124`, `48.137154N, 11.576124E`.
    private func isHemispherePair(_ first: Number) -> Bool {
        guard first.decimals >= 3 else { return false }
        let isBefore = isHemisphere(before(first), "NS")
        var next = skipSpaces(first.range.upperBound)
        if !isBefore {
            guard isHemisphere(next, "NS") else { return false }
            next += 1
        }
        next = separated(next) ?? next
        if isBefore {
            guard isHemisphere(next, "EWO", mayTouch: true) else { return false }
            next = skipSpaces(next + 1)
        }
        guard let second = number(at: next), second.decimals >= 3, second.value <= 180 else { return false }
        return isBefore || isHemisphere(skipSpaces(second.range.upperBound), "EWO")
    }

    private func before(_ number: Number) -> Int {
        let index = number.range.lowerBound - 1
        return byte(index) == 0x20 ? index - 1 : index
    }

    /// Whether a letter alone names a hemisphere.
    private func isHemisphere(_ index: Int, _ letters: String, mayTouch: Bool = false) -> Bool {
        guard letters.utf8.contains(byte(index)) else { return false }
        return !isLetter(index + 1) && (mayTouch || !isLetter(index - 1))
    }

    // MARK: Names

    /// The short name of an axis before a number with a fraction: `Lat: 48.137154`, `"lng":11.5`.
    private func namedAxis(at start: Int) -> Axis? {
        guard byte(start) | 0x20 == UInt8(ascii: "l"), !isLetter(start - 1) else { return nil }
        for (word, axis) in [("lat", Axis.latitude), ("long", .longitude), ("lon", .longitude), ("lng", .longitude)] {
            guard starts(word, at: start), !isLetter(start + word.utf8.count) else { continue }
            let behind = start + word.utf8.count
            for index in behind..<(behind + 6) where !isLetter(index) {
                guard let number = number(at: index) else { continue }
                return number.decimals > 0 && abs(number.value) <= 180 ? axis : nil
            }
        }
        return nil
    }
}

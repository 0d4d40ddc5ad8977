/// A subtitle, to be judged whether a device wrote it: drones and dash cams write where they are.
///
/// Tells such texts from those of films by coordinates: two numbers of three decimals side by side, or of four with a few
/// words between; one beside a word such as `lat`; a field such as `lat=48`; degrees with minutes. Commands such as
/// `{\pos(12.345,67.891)}` don't count.
struct TelemetryText {
    private enum Token: Equatable {
        case number(Double, decimals: Int)
        case word(String)
        case mark(Unicode.Scalar)
    }

    private let tokens: [Token]

    /// - Parameter bytes: UTF-8, or UTF-16 behind its mark, which may follow a length of two bytes (`tx3g`).
    init(_ bytes: [UInt8]) {
        tokens = Self.tokens(of: Array(Self.text(of: bytes).unicodeScalars))
    }

    static func text(of bytes: [UInt8]) -> String {
        for start in [0, 2] {
            let isBig = bytes.dropFirst(start).starts(with: [0xFE, 0xFF])
            guard isBig || bytes.dropFirst(start).starts(with: [0xFF, 0xFE]) else { continue }
            let units = stride(from: start + 2, to: bytes.count - 1, by: 2).map { index in
                let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
                return isBig ? first << 8 | second : second << 8 | first
            }
            return String(decoding: units, as: UTF16.self)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func tokens(of scalars: [Unicode.Scalar]) -> [Token] {
        var tokens: [Token] = []
        var depth = 0
        var index = 0
        while index < scalars.count {
            let scalar = scalars[index]
            // Commands of ASS begin with a backslash; other braces are JSON.
            if scalar == "{", depth > 0 || index + 1 < scalars.count && scalars[index + 1] == "\\" { depth += 1 }
            if scalar == "}", depth > 0 {
                depth -= 1
                index += 1
                continue
            }
            if depth > 0 || scalar == " " {
                index += 1
            } else if isDigit(scalar) {
                let (token, end) = number(in: scalars, at: index)
                tokens.append(token)
                index = end
            } else if scalar.properties.isAlphabetic {
                let word = scalars[index...].prefix { $0.properties.isAlphabetic }
                tokens.append(.word(String(String.UnicodeScalarView(word)).lowercased()))
                index += word.count
            } else {
                tokens.append(.mark(scalar))
                index += 1
            }
        }
        return tokens
    }

    /// Reads a number. A comma counts as a point only before four digits: others separate thousands.
    private static func number(in scalars: [Unicode.Scalar], at start: Int) -> (token: Token, end: Int) {
        let whole = scalars[start...].prefix(while: isDigit)
        let point = start + whole.count
        var fraction: ArraySlice<Unicode.Scalar> = []
        if point < scalars.count, scalars[point] == "." || scalars[point] == "," {
            fraction = scalars[(point + 1)...].prefix(while: isDigit)
            if scalars[point] == ",", fraction.count < 4 { fraction = [] }
        }
        let text = String(String.UnicodeScalarView(whole)) + "." + String(String.UnicodeScalarView(fraction)) + "0"
        let end = fraction.isEmpty ? point : point + 1 + fraction.count
        return (.number(Double(text) ?? .infinity, decimals: fraction.count), end)
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

    // MARK: Coordinates

    /// Whether the text has coordinates.
    var hasPosition: Bool {
        tokens.indices.contains { index in
            let rest = tokens[index...]
            return Self.isPair(rest) || Self.isNamed(rest) || Self.areNamed(rest) || Self.hasMinutes(rest)
                || Self.isField(rest)
                || Self.isSentence(rest)
        }
    }

    private static let words: Set = ["lat", "latitude", "lon", "lng", "long", "longitude", "longtitude"]
    private static let hemispheres: Set = ["n", "s", "e", "w"]
    /// What stands between the name of a field and its value.
    private static let colons: Set<Unicode.Scalar> = ["=", ":", "("]
    private static let signs: Set<Unicode.Scalar> = ["+", "-", "−"]
    private static let degrees: Set<Unicode.Scalar> = ["°", "º", "\u{FFFD}"]
    private static let minutes: Set<Unicode.Scalar> = ["'", "’", "′", "´", "`"]

    private static func isWordOfPosition(_ token: Token) -> Bool {
        if case .word(let word) = token { word.hasPrefix("gps") || words.contains(word) } else { false }
    }

    /// Whether a number says where something is to a hundred metres, in degrees, or in degrees and minutes (`4808.2200`).
    private static func isExact(_ token: Token) -> Bool {
        guard case .number(let value, let decimals) = token else { return false }
        return decimals >= 3 && (value <= 180 || decimals >= 4 && hasDegreesAndMinutes(value))
    }

    private static func hasDegreesAndMinutes(_ value: Double) -> Bool {
        value >= 100 && value < 18_100 && value.truncatingRemainder(dividingBy: 100) < 60
    }

    /// Whether a field with a value begins here: `lat=48`, `[latitude: 48.1]`, `GPS(11.5755`.
    private static func isField(_ tokens: ArraySlice<Token>) -> Bool {
        var rest = tokens
        guard let name = rest.popFirst(), isWordOfPosition(name), take(&rest, colons) else { return false }
        _ = take(&rest, signs)
        if case .number? = rest.first { return true }
        return false
    }

    /// Whether two exact numbers follow each other, with nothing but marks, directions and words of positions between; or two
    /// numbers of four decimals, with a few words of any language.
    private static func isPair(_ tokens: ArraySlice<Token>) -> Bool {
        guard let first = tokens.first, isExact(first) else { return false }
        let between = tokens.dropFirst().prefix(8).prefix { token in if case .number = token { false } else { true } }
        guard let second = tokens.dropFirst(1 + between.count).first, isExact(second) else { return false }
        if case (.number(_, let left), .number(_, let right)) = (first, second), left >= 4, right >= 4 { return true }
        return between.count <= 6
            && between.allSatisfy { token in
                if case .word(let word) = token { hemispheres.contains(word) || isWordOfPosition(token) } else { true }
            }
    }

    /// Whether a word of a position and an exact number, or one of millionths of a degree, are side by side.
    private static func isNamed(_ tokens: ArraySlice<Token>) -> Bool {
        guard let first = tokens.first,
            let second = tokens.dropFirst().prefix(4).first(where: { if case .mark = $0 { false } else { true } })
        else { return false }
        if isWordOfPosition(first) { return isExact(second) || isMillionths(second) }
        return isExact(first) && isWordOfPosition(second)
    }

    /// Whether two words of positions each have a number of two decimals: `Lat 48.13 Lon 11.57`.
    private static func areNamed(_ tokens: ArraySlice<Token>) -> Bool {
        guard let first = tokens.first, isWordOfPosition(first) else { return false }
        let rest = tokens.prefix(12).filter { if case .mark = $0 { false } else { true } }
        guard rest.count >= 4, isWordOfPosition(rest[2]), rest[0] != rest[2] else { return false }
        return [rest[1], rest[3]].allSatisfy { token in
            if case .number(let value, let decimals) = token { value <= 180 && decimals >= 2 } else { false }
        }
    }

    private static func isMillionths(_ token: Token) -> Bool {
        if case .number(let value, 0) = token { value >= 100_000 && value <= 1_800_000_000 } else { false }
    }

    /// Whether a field of a GPS receiver begins here: `4808.2200,N`, `4808.2200N`, `N:4808.2200`.
    private static func isSentence(_ tokens: ArraySlice<Token>) -> Bool {
        var rest = tokens
        let isAfterDirection = takeDirection(&rest)
        if isAfterDirection { _ = take(&rest, [":"]) }
        guard case .number(let value, let decimals)? = rest.popFirst(), decimals >= 2, value < 18_100 else {
            return false
        }
        if !isAfterDirection, take(&rest, [","]) { return takeDirection(&rest) }
        return decimals >= 3 && hasDegreesAndMinutes(value) && (isAfterDirection || takeDirection(&rest))
    }

    /// Whether an angle begins here: `47°07'`, `47.123°`, `N47°07.4`, `N 47 7' 24`, `N47 07 24`, `N 47 07.402`, `47:07:24 N`.
    private static func hasMinutes(_ tokens: ArraySlice<Token>) -> Bool {
        var rest = tokens
        let isAfterDirection = takeDirection(&rest)
        guard case .number(let value, let decimals)? = rest.popFirst(), value <= 180 else { return false }
        if take(&rest, degrees) {
            if decimals >= 3 { return true }
            return takeSixtieth(&rest) != nil && (take(&rest, minutes) || isAfterDirection || takeDirection(&rest))
        }
        let isClock = take(&rest, [":"])
        guard isClock || isAfterDirection, let decimals = takeSixtieth(&rest) else { return false }
        if isAfterDirection, decimals >= 3 { return true }
        let hasMark = take(&rest, isClock ? [":"] : minutes)
        guard takeSixtieth(&rest) != nil else { return isAfterDirection && !isClock && hasMark }
        return isAfterDirection || hasMark && takeDirection(&rest)
    }

    private static func take(_ rest: inout ArraySlice<Token>, _ marks: Set<Unicode.Scalar>) -> Bool {
        guard case .mark(let mark)? = rest.first, marks.contains(mark) else { return false }
        rest.removeFirst()
        return true
    }

    private static func takeDirection(_ rest: inout ArraySlice<Token>) -> Bool {
        guard case .word(let word)? = rest.first, hemispheres.contains(word) else { return false }
        rest.removeFirst()
        return true
    }

    /// Takes minutes or seconds.
    ///
    /// - Returns: the number of decimals; nil if there are none.
    private static func takeSixtieth(_ rest: inout ArraySlice<Token>) -> Int? {
        guard case .number(let value, let decimals)? = rest.first, value < 60 else { return nil }
        rest.removeFirst()
        return decimals
    }
}

/// A subtitle, to be judged whether a device wrote it: drones and dash cams write where they are.
///
/// Tells such texts from those of films by coordinates: two numbers of three decimals side by side, one and a word such as
/// `lat`, a field such as `lat=48`, or degrees with minutes. Commands such as `{\pos(12.345,67.891)}` don't count.
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

    private static func text(of bytes: [UInt8]) -> String {
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
            if scalar == "{" { depth += 1 }
            if scalar == "}" { depth = max(0, depth - 1) }
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
        let hasExactNumber = tokens.contains { Self.isExact($0) }
        if hasExactNumber, tokens.contains(where: Self.isWordOfPosition) { return true }
        return tokens.indices.contains { index in
            let rest = tokens[index...]
            return hasExactNumber && Self.isPair(rest) || Self.hasMinutes(rest) || Self.isField(rest)
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

    /// Whether a number says where something is to a hundred metres.
    private static func isExact(_ token: Token) -> Bool {
        if case .number(let value, let decimals) = token { decimals >= 3 && value <= 180 } else { false }
    }

    /// Whether a field with a value begins here: `lat=48`, `[latitude: 48.1]`, `GPS(11.5755`.
    private static func isField(_ tokens: ArraySlice<Token>) -> Bool {
        var rest = tokens
        guard let name = rest.popFirst(), isWordOfPosition(name), take(&rest, colons) else { return false }
        _ = take(&rest, signs)
        if case .number? = rest.first { return true }
        return false
    }

    /// Whether two exact numbers follow each other, with nothing but marks, directions and words of positions between.
    private static func isPair(_ tokens: ArraySlice<Token>) -> Bool {
        guard let first = tokens.first, isExact(first) else { return false }
        let between = tokens.dropFirst().prefix(6).prefix { token in
            switch token {
            case .mark: true
            case .word(let word): hemispheres.contains(word) || isWordOfPosition(token)
            case .number: false
            }
        }
        return tokens.dropFirst(1 + between.count).first.map(isExact) ?? false
    }

    /// Whether an angle begins here: `47°07'`, `47.123°`, `N 47 7' 24`, `N47 07 24`, `47:07:24 N`.
    private static func hasMinutes(_ tokens: ArraySlice<Token>) -> Bool {
        var rest = tokens
        let isAfterDirection = takeDirection(&rest)
        guard case .number(let value, let decimals)? = rest.popFirst(), value <= 180 else { return false }
        if take(&rest, degrees) {
            if decimals >= 3 { return true }
            return takeSixtieth(&rest) && take(&rest, minutes)
        }
        let isClock = take(&rest, [":"])
        guard isClock || isAfterDirection, takeSixtieth(&rest) else { return false }
        let hasMark = take(&rest, isClock ? [":"] : minutes)
        guard takeSixtieth(&rest) else { return isAfterDirection && !isClock && hasMark }
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
    private static func takeSixtieth(_ rest: inout ArraySlice<Token>) -> Bool {
        guard case .number(let value, _)? = rest.first, value < 60 else { return false }
        rest.removeFirst()
        return true
    }
}

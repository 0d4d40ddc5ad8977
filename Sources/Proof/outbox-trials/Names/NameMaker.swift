import TestSupport

/// Generates file names as bytes: everything that Linux allows (man 7 path_resolution), with a preference for
/// troublesome names.
struct NameMaker {
    private var random: SeededRandom
    private var made: Set<[UInt8]> = []

    init(random: SeededRandom) { self.random = random }

    /// Returns a new name that the agent does not ignore.
    mutating func next() -> [UInt8] {
        while true {
            let name = Array(candidate().prefix(255))
            if Self.isTaken(name) && made.insert(name).inserted { return name }
        }
    }

    private mutating func candidate() -> [UInt8] {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return (0..<number(1...60)).map { _ in byte() }
        case 1: return text(number(1...40))
        case 2:
            return Self.pairs[number(0...Self.pairs.count - 1)].map { Array($0.utf8) }.randomElement(using: &random)
                ?? []
                + stamp()
        case 3: return long()
        case 4, 5: return stamp() + Array(Self.nasty[number(0...Self.nasty.count - 1)].utf8) + text(number(0...5))
        case 6: return Array("-".utf8) + Array(["rf", "-help", "", "e", "-config=x"][number(0...4)].utf8) + stamp()
        case 7: return Array("%".utf8) + stamp() + Array("%25%ff%0d%0a".utf8) + [byte()]
        case 8: return Array(Self.nasty[number(0...Self.nasty.count - 1)].utf8) + [byte()] + stamp()
        default: return stamp() + [0xC3] + Array(".jpg".utf8)
        }
    }

    /// Returns a name of 200 to 255 bytes from one repeated unit, whose length need not divide the name's.
    private mutating func long() -> [UInt8] {
        let unit = Array(["n", "ü", "\u{1F3D6}", "e\u{301}", "漢", "\u{1F468}\u{200D}\u{1F469}"][number(0...5)].utf8)
        let length = number(200...255)
        var name = stamp()
        while name.count + unit.count <= length { name += unit }
        return name + Array(repeating: UInt8(ascii: "x"), count: max(0, length - name.count))
    }

    private mutating func text(_ count: Int) -> [UInt8] {
        var text = ""
        while text.unicodeScalars.count < count {
            let limits: [ClosedRange<UInt32>] = [
                0x01...0x7F, 0x80...0x7FF, 0x300...0x36F, 0x2000...0xFFFF, 0x1F300...0x1FAFF,
            ]
            let range = limits[number(0...limits.count - 1)]
            if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)), scalar != "/" {
                text.unicodeScalars.append(scalar)
            }
        }
        return Array(text.utf8)
    }

    private mutating func stamp() -> [UInt8] { Array(String(number(0...999_999), radix: 36).utf8) }

    private mutating func byte() -> UInt8 {
        let byte = UInt8.random(in: 1...255, using: &random)
        return byte == UInt8(ascii: "/") ? UInt8(ascii: "\\") : byte
    }

    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    /// Names that look equal to a reader but differ for the kernel: composed and decomposed.
    private static let pairs = [
        ["caf\u{E9}", "cafe\u{301}"], ["\u{C5}ngstr\u{F6}m", "A\u{30A}ngstro\u{308}m"],
        ["\u{1E69}", "s\u{323}\u{307}", "s\u{307}\u{323}"], ["\u{AC00}", "\u{1100}\u{1161}"], ["\u{212B}", "\u{C5}"],
    ]

    private static let nasty = [
        "\n", "\r\n", "\r\nX-Injected: yes\r\n\r\n", "\"", "'", "\"; filename=\"x.jpg", "\\", "\t", "\u{7F}",
        "\u{1B}[2J",
        " ", "  .jpg", ". ", "$(reboot)", "`x`", ";&|<>", "*?[a]", "%00", "%2e%2e", "\u{202E}gpj.exe", "\u{FEFF}",
        "\u{1}", "{\"a\":1}", "--boundary--", ".outbox.json.jpg", " (2)", "CON", "nul.txt",
        "\u{2028}", "ends.in.", "a.verylongextension", ".jpg", ".PNG", "é.jpé",
    ]

    /// Whether the agent accepts a file with that name, given the default of `intake.ignore` and the names of
    /// sidecars.
    private static func isTaken(_ name: [UInt8]) -> Bool {
        let text = String(decoding: name, as: UTF8.self)
        let endings = [".part", ".partial", ".crdownload", ".tmp", "~", ".json"]
        return !name.isEmpty && name[0] != UInt8(ascii: ".") && !name.contains(UInt8(ascii: "/")) && !name.contains(0)
            && !endings.contains { text.hasSuffix($0) } && text != "portrait" && text != "Sent"
    }
}

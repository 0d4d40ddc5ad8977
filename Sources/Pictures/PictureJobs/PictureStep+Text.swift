extension PictureStep: CustomStringConvertible {
    /// The longest side of a styled picture. Longer sides could exhaust memory.
    public static let longestSide = 4096

    /// Parses `original`, `rect:WxH` or `round:WxH,r=R,b=B`. Returns `nil` for other text, for sides of 0 or over 4096
    /// pixels, and for a border that covers the whole picture.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let arguments = parts.count == 2 ? parts[1].split(separator: ",", omittingEmptySubsequences: false) : []
        switch (parts[0], arguments.count) {
        case ("original", 0) where parts.count == 1:
            self = .original
        case ("rect", 1):
            guard let (width, height) = Self.sides(arguments[0]) else { return nil }
            self = .rect(width: width, height: height)
        case ("round", 3):
            guard let (width, height) = Self.sides(arguments[0]),
                let radius = Self.length(arguments[1], named: "r"),
                let border = Self.length(arguments[2], named: "b"),
                2 * border < min(width, height)
            else { return nil }
            self = .round(width: width, height: height, radius: radius, border: border)
        default:
            return nil
        }
    }

    /// The step as text that ``init(_:)`` parses.
    public var description: String {
        switch self {
        case .original: "original"
        case .rect(let width, let height): "rect:\(width)x\(height)"
        case .round(let width, let height, let radius, let border): "round:\(width)x\(height),r=\(radius),b=\(border)"
        }
    }

    private static func sides(_ text: Substring) -> (Int, Int)? {
        let sides = text.split(separator: "x", omittingEmptySubsequences: false).map(pixels)
        guard sides.count == 2, let width = sides[0], let height = sides[1], width > 0, height > 0 else { return nil }
        return (width, height)
    }

    private static func length(_ text: Substring, named name: String) -> Int? {
        let parts = text.split(separator: "=", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0] == name ? pixels(parts[1]) : nil
    }

    private static func pixels(_ text: Substring) -> Int? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text) else { return nil }
        return number <= longestSide ? number : nil
    }
}

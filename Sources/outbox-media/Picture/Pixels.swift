/// A picture in memory: rows of red, green, blue and alpha, 8 bits each, colours not weighted by alpha.
struct Pixels {
    /// In pixels.
    let width: Int
    /// In pixels.
    let height: Int
    /// `4 * width * height` bytes.
    private(set) var bytes: [UInt8]

    /// Pixels that were made.
    init(width: Int, height: Int, bytes: [UInt8]) {
        self.width = width
        self.height = height
        self.bytes = bytes
    }

    /// Cuts off the corners along quarter circles, their edges antialiased.
    ///
    /// - Parameter radius: in pixels; at most half of the shorter side counts.
    mutating func roundCorners(radius: Int) {
        let radius = min(radius, min(width, height) / 2)
        for y in 0..<radius {
            for x in 0..<radius {
                let coverage = Self.coverage(x, y, radius: radius)
                if coverage == 255 { continue }
                for (column, row) in [(x, y), (width - 1 - x, y), (x, height - 1 - y), (width - 1 - x, height - 1 - y)]
                {
                    fade(column, row, to: coverage)
                }
            }
        }
    }

    /// With a border around it that is fully transparent.
    func bordered(by border: Int) -> Pixels {
        if border == 0 { return self }
        let outerWidth = width + 2 * border
        var outer = [UInt8](repeating: 0, count: 4 * outerWidth * (height + 2 * border))
        for row in 0..<height {
            let target = 4 * ((row + border) * outerWidth + border)
            outer.replaceSubrange(target..<target + 4 * width, with: bytes[4 * row * width..<4 * (row + 1) * width])
        }
        return Pixels(width: outerWidth, height: height + 2 * border, bytes: outer)
    }

    private mutating func fade(_ x: Int, _ y: Int, to coverage: Int) {
        let start = 4 * (y * width + x)
        if coverage == 0 {
            // What was cut off is not handed on.
            for offset in 0..<4 { bytes[start + offset] = 0 }
        } else {
            bytes[start + 3] = UInt8((Int(bytes[start + 3]) * coverage + 127) / 255)
        }
    }

    /// How much of a pixel of the upper left corner lies inside, 0…255: within half a pixel of the arc it grows with the
    /// distance of the pixel's centre, which differs by less than 2 % from the area that is covered.
    private static func coverage(_ x: Int, _ y: Int, radius: Int) -> Int {
        let across = Double(radius) - Double(x) - 0.5
        let down = Double(radius) - Double(y) - 0.5
        let inside = Double(radius) - (across * across + down * down).squareRoot() + 0.5
        return Int((255 * min(1, max(0, inside))).rounded())
    }
}

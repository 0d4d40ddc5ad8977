/// A picture in memory: rows of red, green, blue and alpha, 8 bits each, without premultiplied alpha.
struct Pixels {
    /// In pixels.
    let width: Int
    /// In pixels.
    let height: Int
    /// `4 * width * height` bytes.
    private(set) var bytes: [UInt8]

    /// Creates a picture from existing pixels.
    init(width: Int, height: Int, bytes: [UInt8]) {
        self.width = width
        self.height = height
        self.bytes = bytes
    }

    /// Rounds the corners to quarter circles, with antialiased edges.
    ///
    /// - Parameter radius: In pixels; limited to half of the shorter side.
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

    /// Returns the picture with a fully transparent border.
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
            // Erase the colours of cut-off pixels.
            for offset in 0..<4 { bytes[start + offset] = 0 }
        } else {
            bytes[start + 3] = UInt8((Int(bytes[start + 3]) * coverage + 127) / 255)
        }
    }

    /// How much of a pixel in the upper left corner is inside the arc, 0…255. Within half a pixel of the arc, coverage
    /// grows with the distance of the pixel's centre. This differs from the covered area by less than 2 %.
    private static func coverage(_ x: Int, _ y: Int, radius: Int) -> Int {
        let across = Double(radius) - Double(x) - 0.5
        let down = Double(radius) - Double(y) - 0.5
        let inside = Double(radius) - (across * across + down * down).squareRoot() + 0.5
        return Int((255 * min(1, max(0, inside))).rounded())
    }
}

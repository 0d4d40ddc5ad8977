/// A bare JPEG XL codestream. Its signature has only two bytes, so the following size must be plausible too.
enum JPEGXLCodestream {
    /// The limits of level 5 of the profile, which all common encoders respect (ISO 18181-1, annex M).
    private static let mostPixelsAcross = 1 << 18
    private static let mostPixels = 1 << 28

    static func matches(_ prefix: MediaPrefix) -> Bool {
        guard prefix.has([0xFF, 0x0A]) else { return false }
        var bits = Bits(prefix: prefix, position: 16)
        // SizeHeader, ISO 18181-1, D.2.
        guard let isSmall = bits.take(1), let height = length(&bits, isSmall: isSmall == 1),
            let ratio = bits.take(3)
        else { return false }
        guard let width = ratio == 0 ? length(&bits, isSmall: isSmall == 1) : width(height, ratio: ratio),
            bits.take(1) != nil
        else { return false }
        return width <= mostPixelsAcross && height <= mostPixelsAcross && width * height <= mostPixels
    }

    private static func length(_ bits: inout Bits, isSmall: Bool) -> Int? {
        if isSmall { return bits.take(5).map { 8 * ($0 + 1) } }
        guard let selector = bits.take(2) else { return nil }
        return bits.take([9, 13, 18, 30][selector]).map { $0 + 1 }
    }

    private static func width(_ height: Int, ratio: Int) -> Int? {
        switch ratio {
        case 1: height
        case 2: height * 12 / 10
        case 3: height * 4 / 3
        case 4: height * 3 / 2
        case 5: height * 16 / 9
        case 6: height * 5 / 4
        case 7: height * 2
        default: nil
        }
    }

    /// Reads bits, starting with the least significant bit of each byte.
    private struct Bits {
        let prefix: MediaPrefix
        var position: Int

        mutating func take(_ count: Int) -> Int? {
            var value = 0
            for index in 0..<count {
                guard let byte = prefix[position / 8] else { return nil }
                value |= Int(byte >> UInt8(position % 8) & 1) << index
                position += 1
            }
            return value
        }
    }
}

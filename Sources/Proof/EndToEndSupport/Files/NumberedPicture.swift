/// A picture whose width and height encode a number, so that the number survives re-encoding.
package struct NumberedPicture {
    package let number: Int

    /// Both sides are longer than a thumbnail's, so that a thumbnail is never mistaken for the picture.
    private static let shortest = 160
    private static let row = 300

    package var width: Int { Self.shortest + number % Self.row }
    package var height: Int { Self.shortest + number / Self.row }

    package init(_ number: Int) { self.number = number }

    /// Reads the number from a picture re-encoded as JPEG. Returns nil if the bytes are no complete JPEG.
    package init?(jpeg bytes: [UInt8]) {
        guard bytes.starts(with: [0xFF, 0xD8]), bytes.suffix(2) == [0xFF, 0xD9],
            let (width, height) = Self.sides(ofJPEG: bytes)
        else { return nil }
        number = (height - Self.shortest) * Self.row + width - Self.shortest
    }

    /// Returns width and height from a JPEG's frame header, or nil without such a header.
    package static func sides(ofJPEG bytes: [UInt8]) -> (width: Int, height: Int)? {
        // ITU T.81, annex B: segments of a marker and a length, up to the frame header.
        var offset = 2
        while offset + 9 < bytes.count, bytes[offset] == 0xFF {
            func number(at place: Int) -> Int { Int(bytes[offset + place]) << 8 | Int(bytes[offset + place + 1]) }
            if (0xC0...0xC2).contains(bytes[offset + 1]) { return (number(at: 7), number(at: 5)) }
            offset += 2 + number(at: 2)
        }
        return nil
    }

    /// The picture as a grey PNG (RFC 2083), its lines stored uncompressed (RFC 1951, 3.2.4).
    package var png: [UInt8] {
        var pixels: [UInt8] = []
        for line in 0..<height {
            pixels.append(0)
            for column in 0..<width { pixels.append(UInt8(truncatingIfNeeded: (line ^ column) &+ number)) }
        }
        var data: [UInt8] = [0x78, 0x01]
        for start in stride(from: 0, to: pixels.count, by: 65_535) {
            let piece = pixels[start..<min(start + 65_535, pixels.count)]
            let length = UInt16(piece.count)
            data.append(start + piece.count == pixels.count ? 1 : 0)
            data += [length, ~length].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
            data += piece
        }
        data += Self.bytes(Self.adler(pixels))
        let header = Self.bytes(UInt32(width)) + Self.bytes(UInt32(height)) + [8, 0, 0, 0, 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + Self.chunk("IHDR", header)
            + Self.chunk("IDAT", data) + Self.chunk("IEND", [])
    }

    private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + data
        return bytes(UInt32(data.count)) + body + bytes(checksum(body))
    }

    private static func bytes(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// Computes the CRC-32 of a PNG chunk (RFC 2083, section 3.4).
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var crc = UInt32.max
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? 0xEDB8_8320 ^ (crc >> 1) : crc >> 1 }
        }
        return ~crc
    }

    /// Adler-32 (RFC 1950, section 8).
    private static func adler(_ bytes: [UInt8]) -> UInt32 {
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return high << 16 | low
    }
}

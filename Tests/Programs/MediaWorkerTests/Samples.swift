import Foundation

/// Pictures for tests. The files in `Fixtures` have four quadrants: red, green, blue and yellow.
enum Samples {
    static func path(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(name)").path
    }

    static func bytes(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path(name)))) }

    /// A JPEG with this orientation in the EXIF data, and with GPS and other personal metadata.
    static func jpeg(orientation: UInt8) throws -> [UInt8] {
        let tiff: [UInt8] =
            [0x4D, 0x4D, 0, 0x2A, 0, 0, 0, 8, 0, 2]
            + [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0]  // Orientation
            + [0x88, 0x25, 0, 4, 0, 0, 0, 1, 0, 0, 0, 38]  // the GPS directory, at 38
            + [0, 0, 0, 0]
            + [0, 1] + [0, 0x1D, 0, 2, 0, 0, 0, 11, 0, 0, 0, 56] + [0, 0, 0, 0]  // GPSDateStamp, at 56
            + Array("2026:11:21\0".utf8)
        let exif = segment(0xE1, Array("Exif\0\0".utf8) + tiff)
        let xmp = segment(
            0xE1,
            Array("http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x='adobe:ns:meta/'>a secret place</x:xmpmeta>".utf8))
        let iptc = segment(0xED, Array("Photoshop 3.0\0".utf8) + Array("8BIM\u{4}\u{4}\0\0\0\0\0\0".utf8))
        let comment = segment(0xFE, Array("a secret comment".utf8))
        return try jpeg("p3.jpg", with: exif + xmp + iptc + comment)
    }

    /// A JPEG fixture with other segments in place of its EXIF data, which is the first one.
    static func jpeg(_ name: String, with segments: [UInt8]) throws -> [UInt8] {
        let picture = try bytes(name)
        return picture[..<2] + segments + picture[(4 + Int(picture[4]) << 8 + Int(picture[5]))...]
    }

    /// A segment of a JPEG file.
    static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        [0xFF, marker, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 0xFF)] + content
    }

    /// A PNG of 8-bit RGB with this size in the header, and almost no image data.
    static func pngHeader(width: UInt32, height: UInt32) -> [UInt8] {
        return pngSignature
            + chunk("IHDR", bigEndian(width) + bigEndian(height) + [8, 2, 0, 0, 0])
            // The beginning of a zlib stream of zeros.
            + chunk("IDAT", [0x78, 0x9C, 0xED, 0xC1, 0x01, 0x01, 0, 0, 0, 0x80]) + chunk("IEND", [])
    }

    private static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// A grey PNG of 16 bits and three channels, 8 pixels wide and a row for each code.
    ///
    /// - Parameter chunks: Come before the pixels.
    static func png(codes: [UInt16], chunks: [UInt8]) -> [UInt8] {
        let rows = codes.flatMap { code in
            [0] + [UInt8](Array(repeating: [UInt8(code >> 8), UInt8(code & 0xFF)], count: 24).joined())
        }
        // One block without compression, and the checksum (RFC 1950, RFC 1951 3.2.4).
        let count = UInt16(rows.count)
        let (low, high) = rows.reduce((UInt32(1), UInt32(0))) { sum, byte in
            let low = (sum.0 + UInt32(byte)) % 65_521
            return (low, (sum.1 + low) % 65_521)
        }
        let lengths = [count, ~count].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let pixels = [0x78, 0x01, 1] + lengths + rows + bigEndian(high << 16 | low)
        return pngSignature + chunk("IHDR", bigEndian(8) + bigEndian(UInt32(codes.count)) + [16, 2, 0, 0, 0])
            + chunks + chunk("IDAT", pixels) + chunk("IEND", [])
    }

    /// A chunk of a PNG file.
    static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let checked = Array(name.utf8) + content
        return bigEndian(UInt32(content.count)) + checked + bigEndian(crc32(checked))
    }

    /// A box of a HEIF file.
    static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        bigEndian(UInt32(content.count + 8)) + Array(type.utf8) + content
    }

    static func bigEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }

    /// The CRC of ISO 3309, as PNG uses it.
    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~0) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { bit, _ in bit & 1 == 1 ? bit >> 1 ^ 0xEDB8_8320 : bit >> 1 }
        }
    }
}

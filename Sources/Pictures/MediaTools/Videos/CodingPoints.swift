/// A cICP chunk: the colours of a PNG file in code points (PNG specification, third edition, 11.3.2.6; ITU-T H.273).
struct CodingPoints {
    private let chunk: [UInt8]

    /// Colours of BT.2020 with this transfer function.
    init(_ range: HighDynamicRange) {
        let content: [UInt8] = [9, range == .hlg ? 18 : 16, 0, 1]
        let checked = Array("cICP".utf8) + content
        chunk = [0, 0, 0, 4] + checked + Self.checksum(of: checked)
    }

    /// Returns a PNG file with this chunk behind its header.
    func added(to file: [UInt8]) -> [UInt8] {
        file.prefix(Self.headerLength) + chunk + file.dropFirst(Self.headerLength)
    }

    /// The signature and the chunk IHDR.
    private static let headerLength = 33

    /// The CRC of ISO 3309.
    private static func checksum(of bytes: [UInt8]) -> [UInt8] {
        let sum = ~bytes.reduce(~0 as UInt32) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { bit, _ in bit & 1 == 1 ? bit >> 1 ^ 0xEDB8_8320 : bit >> 1 }
        }
        return (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * $0)) }
    }
}

import LinuxSystem

/// The chunks of a PNG file (PNG specification, 5.3).
enum PNGChunks {
    /// More chunks before the pixels are implausible.
    private static let most = 1000

    /// Whether the file is an animation: it has an `acTL` chunk before its pixels.
    static func areAnimated(in file: SharedDescriptor) -> Bool {
        var offset: UInt64 = 8
        for _ in 0..<most {
            var head = [UInt8](repeating: 0, count: 8)
            let count = head.withUnsafeMutableBytes { bytes in (try? file.read(into: bytes, at: offset)) ?? 0 }
            if count < head.count { return false }
            switch String(decoding: head[4...], as: UTF8.self) {
            case "acTL": return true
            case "IDAT": return false
            default: offset += 12 + head[..<4].reduce(0) { $0 << 8 | UInt64($1) }
            }
        }
        return false
    }
}

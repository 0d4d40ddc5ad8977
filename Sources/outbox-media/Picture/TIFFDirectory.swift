import LinuxSystem

/// The first directory of a TIFF file, read only to detect camera raw files. Raw files (DNG, NEF, ARW and others) are
/// TIFF files whose first picture is a small preview. The preview's size is not the photograph's size.
enum TIFFDirectory {
    /// NewSubfileType, bit 0: a reduced version of another picture of the file (TIFF 6.0, section 8).
    private static let subfileType: UInt64 = 254
    /// CFARepeatPatternDim (TIFF/EP) and DNGVersion (DNG 1.4): sensor data.
    private static let rawTags: Set<UInt64> = [33421, 50706]

    /// Whether the file's first picture is a preview or raw sensor data.
    static func isCameraRaw(_ file: SharedDescriptor, head: [UInt8]) -> Bool {
        guard head.count >= 16 else { return false }
        let isLittle = head[0] == 0x49
        let isBig = head[isLittle ? 2 : 3] == 0x2B
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
            (isLittle ? Array(bytes.reversed()) : Array(bytes)).reduce(0) { $0 << 8 | UInt64($1) }
        }
        let start = isBig ? number(head[8..<16]) : number(head[4..<8])
        // BigTIFF has wider counts and entries.
        let (countLength, entryLength, valueOffset) = isBig ? (8, 20, 12) : (2, 12, 8)
        guard let counted = bytes(of: file, at: start, count: countLength) else { return false }
        let count = Int(min(number(counted[...]), 256))
        let entries = bytes(of: file, at: start + UInt64(countLength), count: count * entryLength) ?? []
        return stride(from: 0, to: entries.count, by: entryLength).contains { entry in
            let tag = number(entries[entry..<entry + 2])
            // The value is a LONG, left-aligned in its field.
            let value = number(entries[entry + valueOffset..<entry + valueOffset + 4])
            return rawTags.contains(tag) || tag == subfileType && value & 1 != 0
        }
    }

    private static func bytes(of file: SharedDescriptor, at offset: UInt64, count: Int) -> [UInt8]? {
        guard offset < UInt64(Int64.max) - 65536 else { return nil }
        var buffer = [UInt8](repeating: 0, count: count)
        let filled = buffer.withUnsafeMutableBytes { bytes in (try? file.read(into: bytes, at: offset)) ?? 0 }
        return filled == count ? buffer : nil
    }
}

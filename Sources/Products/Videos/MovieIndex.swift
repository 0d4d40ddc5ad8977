import LinuxSystem

/// The boxes of an MP4 or QuickTime file (ISO 14496-12, 4.2).
enum MovieIndex {
    /// More boxes before the pictures are implausible.
    private static let mostBoxes = 100

    /// Whether the index (`moov`) comes before the pictures (`mdat`), so that the video plays while it arrives. True also
    /// for a file that can't be read.
    static func isInFront(of file: SharedDescriptor) -> Bool {
        var offset: UInt64 = 0
        for _ in 0..<mostBoxes {
            guard let head = bytes(of: file, at: offset, count: 8) else { return true }
            var size = number(head[..<4])
            switch String(decoding: head[4...], as: UTF8.self) {
            case "moov": return true
            case "mdat": return false
            default: break
            }
            // A size of 1 means that a longer one follows.
            if size == 1 { size = bytes(of: file, at: offset + 8, count: 8).map { number($0[...]) } ?? 0 }
            guard size >= 8, size < UInt64(Int64.max) - offset else { return true }
            offset += size
        }
        return true
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    private static func bytes(of file: SharedDescriptor, at offset: UInt64, count: Int) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: count)
        let filled = buffer.withUnsafeMutableBytes { bytes in (try? file.read(into: bytes, at: offset)) ?? 0 }
        return filled == count ? buffer : nil
    }
}

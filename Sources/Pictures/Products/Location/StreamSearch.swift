/// Searches the coded pictures of a track for data beside the pictures.
protocol StreamSearch {
    /// Returns the changes that remove such data from samples.
    ///
    /// - Parameter range: Samples, one after the other.
    /// - Throws: ``ProductFailure``; `refused` if the samples can't be read to the end.
    func patches(
        for range: Range<UInt64>, in part: FilePart, _ cancellation: Cancellation
    ) throws(ProductFailure) -> Patches
}

/// Data of users in pictures of MPEG-1, MPEG-2 and MPEG-4 part 2 (ISO 13818-2, 6.2.2.2.2; ISO 14496-2, 6.2.2.1). Captions
/// stay, and the names of coders, by which decoders know their faults.
struct UserData: StreamSearch {
    /// Whether only names of coders stay.
    let isBare: Bool

    /// Sample formats of MP4 and QuickTime, and codes of AVI.
    static let formats: Set = [
        "mp4v", "m1v ", "m1v1", "m2v1", "mpeg", "mpg1", "mpg2", "mp1v", "mp2v", "xvid", "divx", "dx50", "fmp4",
    ]
    /// Sample formats of camcorders begin so.
    static let formatsOfCamcorders = ["hdv", "xdv", "xd5", "xd4", "mx3", "mx4", "mx5"]
    /// Codec IDs of Matroska begin so.
    static let codecs = ["V_MPEG1", "V_MPEG2", "V_MPEG4/ISO/SP", "V_MPEG4/ISO/ASP", "V_MPEG4/ISO/AP"]

    /// Whether pictures under a sample format, in lower case, or a codec ID may hold such data.
    static func isPossible(in name: String) -> Bool {
        formats.contains(name) || formatsOfCamcorders.contains { name.hasPrefix($0) } || codecs.contains(name)
    }

    private static let mark: [UInt8] = [0, 0, 1, 0xB2]
    private static let nextMark: [UInt8] = [0, 0, 1]
    private static let captions = [Array("GA94".utf8) + [3], Array("DTG1".utf8), Array("CC".utf8) + [1]]
    private static let coders = ["DivX", "XviD", "Lavc", "FFmpeg", "ffmpeg"].map { Array($0.utf8) }
    private static let longestName = 32
    private static let longest = 1 << 16
    private static let pieceSize = 1 << 20

    func patches(
        for range: Range<UInt64>, in part: FilePart, _ cancellation: Cancellation
    ) throws(ProductFailure) -> Patches {
        var patches = Patches()
        var offset = range.lowerBound
        while offset < range.upperBound {
            try cancellation.check()
            let count = Int(min(UInt64(Self.pieceSize), range.upperBound - offset))
            guard let piece = try part.bytes(at: offset, count: count) else { return patches }
            for hit in HiddenPositions.find(Self.mark, in: piece) {
                let start = offset + UInt64(hit + Self.mark.count)
                let data = try data(at: start, before: range.upperBound, in: part)
                if !isKnown(data[...]) { try patches.append(.spaces(start..<(start + UInt64(data.count)))) }
            }
            // A mark may begin at the end of the piece.
            offset += UInt64(count == Self.pieceSize ? count - Self.mark.count + 1 : count)
        }
        return patches
    }

    /// Returns the bytes up to the next mark.
    private func data(at start: UInt64, before end: UInt64, in part: FilePart) throws(ProductFailure) -> [UInt8] {
        // Most are short.
        for longest in [256, Self.longest] {
            let bytes = try part.bytes(at: start, count: Int(min(UInt64(longest), end - start))) ?? []
            if let next = HiddenPositions.find(Self.nextMark, in: bytes, most: 1).first { return Array(bytes[..<next]) }
            if bytes.count < longest { return bytes }
        }
        throw .refused("the pictures of the video have too much data of users")
    }

    private func isKnown(_ data: ArraySlice<UInt8>) -> Bool {
        let text = data.prefix { $0 != 0 }
        if data.allSatisfy({ $0 == 0 || $0 == UInt8(ascii: " ") }) { return true }
        let isName = text.count <= Self.longestName && text.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        if isName, data.dropFirst(text.count).allSatisfy({ $0 == 0 }) {
            return Self.coders.contains { text.starts(with: $0) }
        }
        return !isBare && Self.captions.contains { data.starts(with: $0) }
    }

    /// Returns where an MP4 file describes pictures of MPEG-4 for the decoder (ISO 14496-1, 7.2.6): behind the
    /// descriptors of the stream (3) and of the decoder (4), in the one with the tag 5.
    ///
    /// - Parameter start: Where the content of `esds` is in its bytes.
    static func description(in bytes: [UInt8], from start: Int) -> Range<Int>? {
        var offset = start + 4
        for (tag, length) in [(3, 3), (4, 13), (5, 0)] {
            guard offset < bytes.count, bytes[offset] == tag else { return nil }
            offset += 1
            var size = 0
            repeat {
                guard offset < bytes.count, size < 1 << 24 else { return nil }
                size = size << 7 | Int(bytes[offset] & 0x7F)
                offset += 1
            } while bytes[offset - 1] & 0x80 != 0
            if tag == 5 { return offset + size <= bytes.count ? offset..<(offset + size) : nil }
            offset += length
        }
        return nil
    }
}

/// Metadata in pictures of AV1 (AV1 specification, 5.3, 5.8 and 6.2). High dynamic range and the layers of a stream
/// stay. All else, and units of an unknown kind, become padding.
struct OpenUnits: StreamSearch {
    /// Whether the last unit of a range may be without a size. There must be one sample in a range then.
    let endsWithRange: Bool

    static let configuration = "av1C"
    /// Bytes of a configuration before its units.
    static let headerOfConfiguration: UInt64 = 4
    private static let padding: UInt8 = 15
    private static let metadata: UInt8 = 5
    /// Light levels, the display of the master, layers; HDR10+.
    private static let known: [[UInt8]] = [[1], [2], [3], [4] + SupplementalMessages.dynamicRange]
    private static let longest = 1 << 20
    private static let damaged = ProductFailure.refused("the pictures of the video can't be searched for metadata")

    func patches(
        for range: Range<UInt64>, in part: FilePart, _ cancellation: Cancellation
    ) throws(ProductFailure) -> Patches {
        var patches = Patches()
        var offset = range.lowerBound
        while offset < range.upperBound {
            try cancellation.check()
            let start = try part.bytes(at: offset, count: Int(min(10, range.upperBound - offset))) ?? []
            guard let header = start.first else { throw Self.damaged }
            var length = header & 4 == 0 ? 1 : 2
            var size = range.upperBound - offset - UInt64(min(length, start.count))
            if header & 2 != 0 {
                size = 0
                var shift: UInt64 = 0
                repeat {
                    guard length < start.count, shift < 56 else { throw Self.damaged }
                    size |= UInt64(start[length] & 0x7F) << shift
                    shift += 7
                    length += 1
                } while start[length - 1] & 0x80 != 0
            } else if !endsWithRange {
                throw Self.damaged
            }
            guard UInt64(length) + size <= range.upperBound - offset else { throw Self.damaged }
            let content = (offset + UInt64(length))..<(offset + UInt64(length) + size)
            if try !isKnown(header >> 3 & 15, content, in: part) {
                try patches.append(.bytes([header & 0x87 | Self.padding << 3], at: offset))
                try patches.append(.padding(content))
            }
            offset = content.upperBound
        }
        return patches
    }

    private func isKnown(_ type: UInt8, _ content: Range<UInt64>, in part: FilePart) throws(ProductFailure) -> Bool {
        switch type {
        // The sequence, the start of a picture, and pictures.
        case 1...4, 6...8: return true
        case Self.metadata:
            let start = try part.bytes(at: content.lowerBound, count: min(8, content.count)) ?? []
            return Self.known.contains { start.starts(with: $0) }
        case Self.padding:
            guard content.count <= Self.longest,
                let bytes = try part.bytes(at: content.lowerBound, count: content.count)
            else { return false }
            return bytes.dropLast().allSatisfy { $0 == 0 || $0 == 0xFF } && [nil, 0, 0x80].contains(bytes.last)
        default: return false
        }
    }
}

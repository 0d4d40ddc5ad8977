/// The segments of JPEG pictures (ITU-T T.81, annex B): those that nobody here can read are overwritten in place.
struct JPEGSegments {
    /// Which segments stay besides those of the coded picture.
    enum Kept {
        /// Those known to hold no position, and those that exiftool reads.
        case readable
        /// Those needed to show the picture, and EXIF, of which exiftool leaves only that.
        case bare
        /// Those needed to show the picture. For pictures within other files, which exiftool does not read.
        case none

        fileprivate var beginnings: [Int: [String]] {
            // "AVI1" and "mjpg" tell how the frames of a video are interlaced.
            let essential: [Int: [String]] = [
                0xE0: ["JFIF\0", "AVI1"], 0xE1: ["\0\0\0\0mjpg"], 0xE2: ["ICC_PROFILE\0"], 0xEE: ["Adobe"],
            ]
            switch self {
            case .none: return essential
            case .bare: return essential.merging([0xE1: ["Exif\0\0"]]) { $1 }
            case .readable:
                return essential.merging([
                    0xE1: ["Exif\0\0", "http://ns.adobe.com/xap/1.0/\0", "http://ns.adobe.com/xmp/extension/\0"],
                    0xE2: ["ICC_PROFILE\0", "MPF\0", "urn:iso:std:iso:ts:21496:-1\0"], 0xED: ["Photoshop 3.0\0"],
                    // A comment.
                    0xFE: [""],
                ]) { $1 }
            }
        }
    }

    /// The changes that remove the other segments.
    private(set) var patches = Patches()
    /// Where the blocks of EXIF are that stay, from the header of the TIFF structure.
    private(set) var exif: [Range<UInt64>] = []
    private let part: FilePart
    private let cancellation: Cancellation
    private let known: [Int: [String]]
    private let spared: KeptRanges

    /// - Parameter spared: what stays wherever it is, such as videos.
    init(in part: FilePart, keeping kept: Kept, spared: [Range<UInt64>] = [], _ cancellation: Cancellation) {
        self.part = part
        self.cancellation = cancellation
        known = kept.beginnings
        self.spared = KeptRanges(spared)
    }

    private static let signatureOfEXIF = Array("Exif\0\0".utf8)
    private static let beginning: [UInt8] = [0xFF, 0xD8, 0xFF]
    private static let early = ProductFailure.refused("the picture ends early")

    /// Searches a picture.
    ///
    /// - Returns: Where the picture ends.
    /// - Throws: ``ProductFailure``; `refused` if it can't be read to its end.
    mutating func search(from start: UInt64) throws(ProductFailure) -> UInt64 {
        var offset = start + 2
        while true {
            try cancellation.check()
            guard try number(at: offset, count: 1) == 0xFF else {
                throw .refused("a segment of the picture is damaged")
            }
            let marker = try number(at: offset + 1, count: 1)
            switch marker {
            case 0xFF: offset += 1
            case 0xD9: return offset + 2
            case 0xD0...0xD7, 0x01: offset += 2
            case 0xC0...0xCF, 0xDA...0xDF, 0xE0...0xEF, 0xFE:
                let size = try number(at: offset + 2, count: 2)
                let content = (offset + 4)..<(offset + 2 + UInt64(max(2, size)))
                guard content.upperBound <= part.range.upperBound else { throw Self.early }
                if marker >= 0xE0 { try searchSegment(marker, content) }
                offset = content.upperBound
                // A picture that ends within its data has nothing behind it.
                if marker == 0xDA, try !skipScan(&offset) { return part.range.upperBound }
            default: throw .refused("the picture has a segment of an unknown kind")
            }
        }
    }

    /// Searches a sequence of pictures, such as the frames of a video, and clears the bytes between the pictures.
    mutating func searchAll() throws(ProductFailure) {
        var offset = part.range.lowerBound
        while try Self.isFound(in: part.within(offset..<part.range.upperBound)) {
            offset = try search(from: offset)
            let gap = offset..<(try nextPicture(from: offset) ?? part.range.upperBound)
            try clear(gap)
            offset = gap.upperBound
        }
    }

    /// Whether a part begins as a picture.
    static func isFound(in part: FilePart) throws(ProductFailure) -> Bool {
        try part.bytes(at: part.range.lowerBound, count: 3) == beginning
    }

    private func nextPicture(from start: UInt64) throws(ProductFailure) -> UInt64? {
        var offset = start
        while offset < part.range.upperBound {
            try cancellation.check()
            let count = Int(min(1 << 16, part.range.upperBound - offset))
            guard let piece = try part.bytes(at: offset, count: count) else { return nil }
            if let hit = HiddenPositions.find(Self.beginning, in: piece).first { return offset + UInt64(hit) }
            offset += UInt64(max(1, count - 2))
        }
        return nil
    }

    private func number(at offset: UInt64, count: Int) throws(ProductFailure) -> Int {
        guard let number = try part.number(at: offset, count: count) else { throw Self.early }
        return Int(number)
    }

    private mutating func clear(_ range: Range<UInt64>) throws(ProductFailure) {
        for gap in spared.gaps(in: range) { try patches += part.clearing(gap, cancellation) }
    }

    private mutating func searchSegment(_ marker: Int, _ content: Range<UInt64>) throws(ProductFailure) {
        let start = try part.bytes(at: content.lowerBound, count: min(40, content.count)) ?? []
        guard known[marker]?.contains(where: { start.starts(with: $0.utf8) }) == true else { return try clear(content) }
        if marker == 0xE1, start.starts(with: Self.signatureOfEXIF) {
            exif.append((content.lowerBound + UInt64(Self.signatureOfEXIF.count))..<content.upperBound)
        }
        // These have a fixed size.
        let fixed: [Int: Int] = [0xE0: 14, 0xEE: 12]
        guard let size = fixed[marker], content.count > size else { return }
        try clear((content.lowerBound + UInt64(size))..<content.upperBound)
    }

    /// Skips coded data up to the next marker.
    ///
    /// - Returns: Whether there is one.
    private func skipScan(_ offset: inout UInt64) throws(ProductFailure) -> Bool {
        while offset < part.range.upperBound {
            try cancellation.check()
            let count = Int(min(1 << 16, part.range.upperBound - offset))
            guard let piece = try part.bytes(at: offset, count: count) else { return false }
            let marker = HiddenPositions.find([0xFF], in: piece).first { place in
                place + 1 < count && piece[place + 1] != 0 && !(0xD0...0xD7).contains(piece[place + 1])
            }
            if let marker {
                offset += UInt64(marker)
                return true
            }
            offset += UInt64(max(1, count - 1))
        }
        return false
    }
}

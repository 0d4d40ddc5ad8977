import CLinux

/// The parts of a picture that nobody here can read: segments and chunks of makers, and bytes behind the picture. All parts
/// but those known to hold no position, and those that exiftool reads, are overwritten in place, so that nothing moves.
struct PictureParts {
    /// The changes that remove these parts.
    private(set) var patches = Patches()
    /// Where the blocks of EXIF are, from the header of the TIFF structure.
    private(set) var exif: [Range<UInt64>] = []
    /// How many texts of PNG hold EXIF in hexadecimal digits, which only exiftool reads.
    private(set) var encodedEXIF = 0

    /// Whether a TIFF is a camera's raw file.
    private var isRaw = false

    private let part: FilePart
    private let cancellation: Cancellation
    /// Videos within the picture, which have been searched on their own.
    private let videos: [Range<UInt64>]
    /// Whether only parts stay that are needed to show the picture, and EXIF, which exiftool must read.
    private let isBare: Bool

    /// - Parameter tags: Tags of TIFF that go as well.
    /// - Throws: ``ProductFailure``; `refused` if the picture can't be read to its end.
    init(
        in part: FilePart, type: String, videos: [Range<UInt64>], removing tags: Set<UInt64> = [],
        isBare: Bool = false, _ cancellation: Cancellation
    ) throws(ProductFailure) {
        self.part = part
        self.cancellation = cancellation
        self.videos = videos
        self.isBare = isBare
        let (start, end) = (part.range.lowerBound, part.range.upperBound)
        switch type {
        case "image/jpeg": try searchTrailer(from: try searchJPEG(from: start))
        case "image/png": try clear(try searchPNG()..<end)
        case "image/gif": try clear(try searchGIF()..<end)
        case "image/webp": try clear(try searchWebP()..<end)
        case "image/bmp": try clear(try endOfBitmap()..<end)
        case "image/jxl": try searchJPEGXL()
        case "image/heic", "image/heif", "image/avif", "image/heic-sequence":
            let items = try ItemParts(in: part, isBare: isBare, cancellation)
            let boxes = try BoxPositions(in: part, cancellation, items: items, videos: videos, isBare: isBare)
            if let obstacle = boxes.obstacle { throw .refused(obstacle) }
            if !items.isFound, boxes.essence.isEmpty { throw .refused("the file has no picture: it is damaged") }
            for item in items.exif { exif.append(try structureOfEXIF(in: item)) }
            patches = boxes.patches
        case "image/tiff":
            let parts = try TIFFParts(in: part, removing: tags, isBare: isBare, cancellation)
            (patches, exif, isRaw) = (parts.patches, [part.range], parts.isRaw)
        // Raw pictures have parts to which only their makers know the way.
        case _ where !tags.isEmpty:
            patches = try TIFFParts(in: part, removing: tags, clearsRest: false, cancellation).patches
        default: break
        }
    }

    /// The directories of all blocks of EXIF in the picture.
    ///
    /// - Throws: ``ProductFailure``; `refused` if one can't be read, or holds a position.
    func requireNoPositions() throws(ProductFailure) {
        for block in exif {
            let directories = try ExifDirectories(in: part.within(block), isRaw ? .raw : .full)
            if !directories.positions.isEmpty { throw Self.position }
        }
    }

    /// The same for a camera raw file. Raw files that are no TIFF files have no such directories.
    ///
    /// - Throws: See ``requireNoPositions()``.
    static func requireNoPositions(inRaw part: FilePart) throws(ProductFailure) {
        let start = try part.bytes(at: part.range.lowerBound, count: min(4, part.range.count)) ?? []
        guard rawTIFF.contains(where: { start.starts(with: $0.utf8) }) else { return }
        if try !ExifDirectories(in: part, .raw).positions.isEmpty { throw position }
    }

    /// How raw files begin that are TIFF files: in both orders of bytes, of Olympus, and of Panasonic.
    private static let rawTIFF = ["II*\0", "MM\0*", "IIRO", "IIRS", "MMOR", "IIU\0"]
    static let position = ProductFailure.refused("a position is left in the EXIF data of the picture")
    private static let early = ProductFailure.refused("the picture ends early")

    private mutating func clear(_ range: Range<UInt64>) throws(ProductFailure) {
        for gap in KeptRanges(videos).gaps(in: range) { try patches += part.clearing(gap, cancellation) }
    }

    private func number(at offset: UInt64, count: Int) throws(ProductFailure) -> Int {
        guard let number = try part.number(at: offset, count: count) else { throw Self.early }
        return Int(number)
    }

    private func text(at offset: UInt64, count: Int) throws(ProductFailure) -> String {
        let count = min(count, Int(part.range.upperBound - min(offset, part.range.upperBound)))
        let bytes = try part.bytes(at: offset, count: count) ?? []
        return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    // MARK: JPEG

    /// Returns where the picture ends.
    private mutating func searchJPEG(from start: UInt64) throws(ProductFailure) -> UInt64 {
        var segments = JPEGSegments(in: part, keeping: isBare ? .bare : .readable, spared: videos, cancellation)
        let end = try segments.search(from: start)
        try patches += segments.patches
        exif += segments.exif
        return end
    }

    /// Searches what is behind a JPEG picture: further pictures, videos, and the blocks of Samsung's phones. All else goes.
    private mutating func searchTrailer(from start: UInt64) throws(ProductFailure) {
        let end = part.range.upperBound
        guard start < end else { return }
        if isBare { return try clear(start..<end) }
        var kept = videos + (try samsungDirectory(from: start))
        var offset = start
        var failures = 0
        while offset < end {
            try cancellation.check()
            let count = Int(min(1 << 20, end - offset))
            guard let piece = try part.bytes(at: offset, count: count) else { break }
            var next = offset + UInt64(max(1, count - 2))
            var free = offset
            for hit in HiddenPositions.find([0xFF, 0xD8, 0xFF], in: piece) {
                let picture = offset + UInt64(hit)
                if picture < free { continue }
                if let video = videos.first(where: { $0.contains(picture) }) {
                    free = video.upperBound
                    continue
                }
                do throws(ProductFailure) {
                    free = try searchJPEG(from: picture)
                    kept.append(picture..<free)
                } catch {
                    guard case .refused = error else { throw error }
                    failures += 1
                }
                if kept.count > 1000 || failures > 100 { throw .refused("too much follows the picture") }
            }
            next = max(next, free)
            offset = next
        }
        for gap in KeptRanges(kept).gaps(in: start..<end) { try patches += part.clearing(gap, cancellation) }
    }

    /// The directory at the end of Samsung's pictures, and the names of its blocks (ExifTool, Samsung.pm). The phone needs
    /// them to find the video.
    private func samsungDirectory(from start: UInt64) throws(ProductFailure) -> [Range<UInt64>] {
        let end = part.range.upperBound
        guard end - start > 20, try text(at: end - 4, count: 4) == "SEFT",
            let bytes = try part.bytes(at: end - 8, count: 4),
            let size = ByteReader(bytes: bytes, isLittleEndian: true).number(at: 0, count: 4), size + 8 < end - start,
            case let directory = end - 8 - size, try text(at: directory, count: 4) == "SEFH",
            let content = try part.bytes(at: directory, count: Int(size))
        else { return [] }
        let reader = ByteReader(bytes: content, isLittleEndian: true)
        let count = min(Int(reader.number(at: 8, count: 4) ?? 0), content.count / 12)
        var kept = [directory..<end]
        for index in 0..<count {
            guard let back = reader.number(at: 16 + 12 * index, count: 4), back < directory - start,
                let header = try part.bytes(at: directory - back, count: 8),
                let length = ByteReader(bytes: header, isLittleEndian: true).number(at: 4, count: 4), length < 64
            else { continue }
            kept.append((directory - back)..<(directory - back + 8 + length))
        }
        return kept
    }

    /// Returns where the picture ends.
    private mutating func searchPNG() throws(ProductFailure) -> UInt64 {
        let chunks = try PNGChunks(in: part, isBare: isBare, cancellation)
        try patches += chunks.patches
        (exif, encodedEXIF) = (chunks.exif, chunks.encodedEXIF)
        return chunks.end
    }

    // MARK: GIF

    private static let applications: Set = ["NETSCAPE2.0", "ANIMEXTS1.0", "XMP DataXMP", "ICCRGBG1012"]

    /// Searches the blocks of a GIF picture (GIF89a specification).
    ///
    /// - Returns: Where the picture ends.
    private mutating func searchGIF() throws(ProductFailure) -> UInt64 {
        var offset = part.range.lowerBound + 13
        offset += Self.colors(try number(at: offset - 3, count: 1))
        while true {
            try cancellation.check()
            // A picture without an end has nothing behind it.
            if offset == part.range.upperBound { return offset }
            switch try number(at: offset, count: 1) {
            case 0x3B: return offset + 1
            // Some programs write a zero before the end. exiftool would read no blocks behind it.
            case 0:
                guard try number(at: offset + 1, count: 1) == 0x3B else { throw Self.unknownBlock }
                offset += 1
            case 0x2C:
                offset += 10 + Self.colors(try number(at: offset + 9, count: 1)) + 1
                offset = try searchBlocks(from: offset, isAllowed: true)
            case 0x21:
                let label = try number(at: offset + 1, count: 1)
                offset += 2
                guard label == 0xFF else {
                    offset = try searchBlocks(
                        from: offset, isAllowed: label == 0xF9 || !isBare && [0xFE, 0x01].contains(label))
                    continue
                }
                let size = try number(at: offset, count: 1)
                let name = try text(at: offset + 1, count: size)
                offset = try searchBlocks(
                    from: offset + 1 + UInt64(size),
                    isAllowed: Self.applications.contains(name) && !(isBare && name.hasPrefix("XMP")))
            default: throw Self.unknownBlock
            }
        }
    }

    private static let unknownBlock = ProductFailure.refused("the picture has a block of an unknown kind")

    private static func colors(_ flags: Int) -> UInt64 { flags & 0x80 == 0 ? 0 : 3 << UInt64(flags & 7 + 1) }

    private mutating func searchBlocks(from start: UInt64, isAllowed: Bool) throws(ProductFailure) -> UInt64 {
        var offset = start
        while case let size = try number(at: offset, count: 1), size > 0 {
            let content = (offset + 1)..<(offset + 1 + UInt64(size))
            if !isAllowed { try clear(content) }
            offset = content.upperBound
        }
        return offset + 1
    }

    // MARK: WebP

    private static let chunksOfWebP: Set = [
        "VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF", "ICCP", "EXIF", "XMP ",
    ]

    /// Returns where the picture ends.
    private mutating func searchWebP() throws(ProductFailure) -> UInt64 {
        let start = part.range.lowerBound
        let end = start + 8 + UInt64(try littleNumber(at: start + 4))
        guard end >= start + 12, end <= part.range.upperBound else { throw Self.early }
        try searchRIFF((start + 12)..<end)
        return end
    }

    private func littleNumber(at offset: UInt64) throws(ProductFailure) -> Int {
        guard let bytes = try part.bytes(at: offset, count: 4),
            let number = ByteReader(bytes: bytes, isLittleEndian: true).number(at: 0, count: 4)
        else { throw Self.early }
        return Int(number)
    }

    /// Searches the chunks of a WebP picture, and those of its frames (RFC 9649, 2.7).
    private mutating func searchRIFF(_ range: Range<UInt64>, inFrame: Bool = false) throws(ProductFailure) {
        var offset = range.lowerBound
        while offset < range.upperBound {
            try cancellation.check()
            let type = try text(at: offset, count: 4)
            let content = (offset + 8)..<(offset + 8 + UInt64(try littleNumber(at: offset + 4)))
            guard content.upperBound <= range.upperBound else { throw Self.early }
            if type == "ANMF", content.count >= 16 {
                if inFrame { throw .refused("the picture has a frame within a frame") }
                try searchRIFF((content.lowerBound + 16)..<content.upperBound, inFrame: true)
            } else if type == "EXIF" {
                exif.append(try part.structureOfEXIF(in: content))
            } else if !Self.chunksOfWebP.contains(type) || isBare && type == "XMP " {
                let cleared = try part.clearing(content, cancellation)
                if !cleared.isEmpty || type != "JUNK" {
                    try patches.append(.bytes(Array("JUNK".utf8), at: offset))
                    try patches += cleared
                }
            }
            offset = content.upperBound + UInt64(content.count % 2)
        }
    }

    // MARK: Others

    /// Sizes of headers of BMP: that of OS/2, and those of Windows with the versions 1 to 5.
    private static let headersOfBitmaps = [12, 40, 52, 56, 64, 108, 124]
    private static let unreadableBitmap = ProductFailure.refused("the end of the bitmap can't be found")

    /// Returns where pixels and colour profile end. Decoders ignore the size of the file that the header states.
    private func endOfBitmap() throws(ProductFailure) -> UInt64 {
        let start = part.range.lowerBound
        let pixels = try littleNumber(at: start + 10)
        let header = try littleNumber(at: start + 14)
        guard Self.headersOfBitmaps.contains(header), pixels >= 14 + header else { throw Self.unreadableBitmap }
        let (width, height, bits): (Int, Int, Int)
        var (compression, coded) = (0, 0)
        if header == 12 {
            let sides = try littleNumber(at: start + 18)
            (width, height, bits) = (sides & 0xFFFF, sides >> 16, try littleNumber(at: start + 22) >> 16)
        } else {
            width = try littleNumber(at: start + 18)
            height = Int(Int32(truncatingIfNeeded: try littleNumber(at: start + 22)).magnitude)
            bits = try littleNumber(at: start + 26) >> 16
            (compression, coded) = (try littleNumber(at: start + 30), try littleNumber(at: start + 34))
        }
        guard width > 0, width < 1 << 24, height > 0, height < 1 << 24, bits > 0, bits <= 64 else {
            throw Self.unreadableBitmap
        }
        let size: Int
        switch compression {
        case 0,
            3 where header != 64, 6 where header != 64:
            size = (width * bits + 31) / 32 * 4 * height
        // Lengths of runs.
        case 1 where coded > 0, 2 where coded > 0: size = coded
        default: throw Self.unreadableBitmap
        }
        var end = start + UInt64(pixels + size)
        if header == 124 {
            let profile = (try littleNumber(at: start + 14 + 112), try littleNumber(at: start + 14 + 116))
            if profile.1 > 0 { end = max(end, start + UInt64(14 + profile.0 + profile.1)) }
        }
        // A truncated picture has nothing behind it.
        return min(end, part.range.upperBound)
    }

    private static let emptyBox = "void"
    private static let boxesOfJPEGXL: Set = ["JXL ", "ftyp", "jxll", "jxlc", "jxlp", "jxli", "Exif", "xml "]

    /// Searches the boxes of a JPEG XL file (ISO 18181-2); a bare codestream has none. Compressed boxes (`brob`) can't be
    /// read. Nor can `jbrd`, with the segments of the former JPEG.
    private mutating func searchJPEGXL() throws(ProductFailure) {
        var offset = part.range.lowerBound
        if try number(at: offset, count: 2) == 0xFF0A {
            throw .refused("the end of a bare codestream of JPEG XL can't be found, so positions may follow it")
        }
        while offset < part.range.upperBound {
            guard let box = try Box(at: offset, in: part) else { throw Self.early }
            if !Self.boxesOfJPEGXL.contains(box.type) {
                // ffmpeg takes a file with a box `free` for a video.
                let cleared = try part.clearing(box.content, cancellation)
                if !cleared.isEmpty || box.type != Self.emptyBox {
                    try patches.append(.bytes(Array(Self.emptyBox.utf8), at: box.range.lowerBound + 4))
                    try patches += cleared
                }
            } else if box.type == "Exif" {
                exif.append(try structureOfEXIF(in: box.content))
            }
            offset = box.range.upperBound
        }
    }

    /// Returns where the TIFF structure of an item or box of EXIF is, which begins with its own place (ISO 23008-12, A.2.1).
    private func structureOfEXIF(in item: Range<UInt64>) throws(ProductFailure) -> Range<UInt64> {
        guard item.count > 4, let skipped = try part.number(at: item.lowerBound, count: 4),
            skipped <= UInt64(item.count) - 4
        else { throw .refused("the EXIF data of the picture can't be found") }
        return try part.structureOfEXIF(in: (item.lowerBound + 4 + skipped)..<item.upperBound)
    }
}

/// The parts of a TIFF file that no directory leads to (TIFF 6.0, section 2): trailers, and directories that a program
/// replaced and left. They are cleared in place. Single tags can be removed as well.
struct TIFFParts {
    /// The changes that clear these parts.
    private(set) var patches = Patches()

    private let part: FilePart
    private let isLittle: Bool
    private var kept: [Range<UInt64>] = []
    private let removed: Set<UInt64>
    private let isBare: Bool
    private let clearsRest: Bool
    /// Coded pictures of other formats, in which exiftool reads nothing.
    private var pictures: [(format: UInt64, range: Range<UInt64>)] = []
    /// Whether the file is a camera's raw file under the name of TIFF. Only its maker knows all parts.
    private(set) var isRaw = false
    private var removedValues: [Range<UInt64>] = []

    private static let mostDirectories = 1000
    /// exiftool takes a note of each that leads where it has been.
    private static let mostReferences = 10_000
    /// A strip for each row of a large picture.
    private static let mostParts = 1_000_000
    /// Tags that lead to directories: those within the file, of fax, of Kodak, of EXIF, of positions, and of
    /// interoperability. Others have the type of a directory.
    private static let directories: Set<UInt64> = [330, 400, 33424, 34665, 34853, 40965, 65024]
    private static let typeOfDirectory: UInt64 = 13
    /// Tags with the places of data, and those with its sizes: strips, tiles, and thumbnails.
    private static let data: [UInt64: UInt64] = [273: 279, 324: 325, 513: 514]
    /// Tags that say how a picture is stored.
    private static let layout: Set<UInt64> = [256, 257, 258, 259, 262, 277, 278, 284, 322, 323, 530]
    private static let compression: UInt64 = 259
    /// Data of Photoshop, with further pictures in it, and profiles of raw pictures. exiftool reports nothing of them.
    private static let unread: Set<UInt64> = [37724, 50831, 50833]
    /// Tags that show a page, and those of EXIF and of interoperability that ``PositionReport`` lets stay.
    private static let needed = Set<UInt64>(
        [1, 2, 262, 263, 266, 273, 274, 277, 292, 293, 296, 297, 301, 330, 332, 336, 347, 34665, 34675, 36864, 36867]
            + [36881, 37121, 37521, 42240, 50674]
    )
    .union(254...259).union(278...284).union(317...325).union(338...341).union(512...521).union(529...532)
    .union(40960...40965)
    /// JPEG in TIFF as it was before 1995. Tags may lead to tables of unknown size.
    private static let oldJPEG: UInt64 = 6
    private static let tablesOfOldJPEG: Set<UInt64> = [519, 520, 521]
    private static let JPEG: UInt64 = 7
    private static let WebP: UInt64 = 50001
    private static let tablesOfJPEG: UInt64 = 347

    /// - Parameters:
    ///   - removed: The numbers of tags that go.
    ///   - clearsRest: Whether all parts go that no directory leads to, and tags that exiftool does not report.
    ///   - isBare: Whether only tags stay that show the picture.
    /// - Throws: ``ProductFailure``; `refused` if the directories can't be read.
    init(
        in part: FilePart, removing removed: Set<UInt64> = [], clearsRest: Bool = true, isBare: Bool = false,
        _ cancellation: Cancellation
    ) throws(ProductFailure) {
        self.part = part
        (self.clearsRest, self.isBare) = (clearsRest, isBare)
        self.removed = clearsRest ? removed.union(Self.unread) : removed
        let start = part.range.lowerBound
        let header = try part.bytes(at: start, count: min(8, part.range.count)) ?? []
        isLittle = header.first == UInt8(ascii: "I")
        let reader = ByteReader(bytes: header, isLittleEndian: isLittle)
        // BigTIFF has another layout.
        guard reader.number(at: 2, count: 2) == 42, let first = reader.number(at: 4, count: 4) else {
            throw Self.unreadable
        }
        kept.append(start..<(start + 8))
        var open = [first]
        var seen: Set<UInt64> = []
        var references = 0
        while let offset = open.popLast() {
            try cancellation.check()
            guard offset > 0, seen.insert(offset).inserted else { continue }
            if seen.count > Self.mostDirectories { throw .refused("the picture has too many directories") }
            let found = try readDirectory(at: start + offset)
            if kept.count > Self.mostParts { throw .refused("the picture has too many parts") }
            open += found
            references += found.count
            if references > Self.mostReferences { throw .refused("the picture has too many directories") }
        }
        if isRaw, isBare { throw .refused("camera raw files hold metadata that they can't do without") }
        try clear(all: clearsRest && !isRaw, cancellation)
    }

    /// Clears the parts that go.
    ///
    /// - Parameter all: Whether these are all parts that no directory leads to, or only the values of removed tags.
    private mutating func clear(all: Bool, _ cancellation: Cancellation) throws(ProductFailure) {
        if all { for picture in pictures { try search(picture.format, picture.range, cancellation) } }
        var lost: UInt64 = 0
        let kept = KeptRanges(kept)
        for gap in all ? kept.gaps(in: part.range) : removedValues.flatMap({ kept.gaps(in: $0) }) {
            let cleared = try part.clearing(gap, cancellation)
            if !cleared.isEmpty, !removedValues.contains(where: { $0.overlaps(gap) }) { lost += UInt64(gap.count) }
            try patches += cleared
        }
        // Some cameras call their raw files TIFF.
        if lost > UInt64(part.range.count) / 4 { throw .refused("no directory leads to a large part of the picture") }
    }

    private static let photometric: UInt64 = 262
    /// Arrays of colour filters, and linear raw pictures (TIFF/EP, DNG).
    private static let photometricOfSensors: Set<UInt64> = [32803, 34892]
    /// Other compressions are those of cameras (TIFF 6.0; libtiff, tiff.h).
    private static let compressions = Set<UInt64>(1...10)
        .union([32766, 32771, 32773, 32809, 32946, 34661, 34676, 34677, 34712, 34887, 34925, 50000, 50001, 50002])

    private static func isRaw(_ tag: UInt64, _ value: UInt64) -> Bool {
        tag == compression ? !compressions.contains(value) : photometricOfSensors.contains(value)
    }

    private static let unreadable = ProductFailure.refused("the parts of the picture can't be told apart")

    /// Keeps a directory and all that it leads to.
    ///
    /// - Returns: the directories to read next.
    private mutating func readDirectory(at start: UInt64) throws(ProductFailure) -> [UInt64] {
        guard let count = try number(at: start, count: 2), case let size = 2 + 12 * count,
            let entries = try part.bytes(at: start + 2, count: Int(12 * count))
        else { throw .refused("a directory of the picture is damaged") }
        // Some programs leave out the place of the next directory.
        let next = try number(at: start + size, count: 4)
        kept.append(start..<(start + size + (next == nil ? 0 : 4)))
        try removeEntries(entries, at: start, next)
        let reader = ByteReader(bytes: entries, isLittleEndian: isLittle)
        var values: [UInt64: [UInt64]] = [:]
        var inner: [UInt64] = []
        for index in 0..<Int(count) {
            guard let tag = reader.number(at: 12 * index, count: 2),
                let type = reader.number(at: 12 * index + 2, count: 2),
                let number = reader.number(at: 12 * index + 4, count: 4),
                let target = reader.number(at: 12 * index + 8, count: 4),
                let size = ExifDirectories.size(ofType: type)
            else { continue }
            var place = start + 2 + UInt64(12 * index) + 8
            if number * size > 4 {
                place = part.range.lowerBound + target
                guard number * size <= part.range.upperBound - min(place, part.range.upperBound) else {
                    throw .refused("a value of the picture reaches over its end")
                }
                if goes(tag) {
                    removedValues.append(place..<(place + number * size))
                } else {
                    kept.append(place..<(place + number * size))
                }
            }
            if tag == Self.compression || tag == Self.photometric {
                let value = try numbers(at: place, number, Int(size)).first ?? 0
                isRaw = isRaw || Self.isRaw(tag, value)
            }
            if Self.tablesOfOldJPEG.contains(tag), clearsRest { throw Self.unreadable }
            if goes(tag) { continue }
            let isOfPlaces = Self.data[tag] != nil || Self.data.values.contains(tag)
            let isOfDirectories = Self.directories.contains(tag) || type == Self.typeOfDirectory
            if isOfDirectories { inner += try numbers(at: place, number, Int(size)) }
            if tag == Self.tablesOfJPEG { pictures.append((Self.JPEG, place..<(place + number * size))) }
            if isOfPlaces || Self.layout.contains(tag) { values[tag] = try numbers(at: place, number, Int(size)) }
        }
        try keepData(values)
        return inner + (next.map { [$0] } ?? [])
    }

    private func goes(_ tag: UInt64) -> Bool { removed.contains(tag) || isBare && !Self.needed.contains(tag) }

    /// Keeps strips, tiles and thumbnails.
    private mutating func keepData(_ values: [UInt64: [UInt64]]) throws(ProductFailure) {
        let compression = values[Self.compression]?.first ?? 1
        for (placesTag, sizesTag) in Self.data {
            let (places, sizes) = (values[placesTag] ?? [], values[sizesTag] ?? [])
            if places.isEmpty { continue }
            // Otherwise the end of the data is unknown. Files of maps leave out blank tiles.
            guard !clearsRest || places.count == sizes.count && zip(places, sizes).allSatisfy({ $1 > 0 || $0 == 0 })
            else { throw Self.unknownSizes }
            let needed = placesTag == 513 || compression != 1 ? nil : TIFFLayout(values)
            for (index, (place, size)) in zip(places, sizes).enumerated() {
                if clearsRest, let needed, size > 0, size < needed.bytes(ofPart: index) { throw Self.unknownSizes }
                let begin = part.range.lowerBound + place
                // Truncated pictures exist.
                let range = min(begin, part.range.upperBound)..<min(begin + size, part.range.upperBound)
                kept.append(range)
                if [Self.oldJPEG, Self.JPEG, Self.WebP].contains(compression) { pictures.append((compression, range)) }
            }
        }
    }

    private static let unknownSizes = ProductFailure.refused("the sizes of the picture's strips or tiles are damaged")

    /// Searches coded data that is a picture of another format, in which exiftool reads nothing.
    private mutating func search(
        _ format: UInt64, _ range: Range<UInt64>, _ cancellation: Cancellation
    ) throws(ProductFailure) {
        if format == Self.WebP {
            let parts = try PictureParts(
                in: part.within(range), type: "image/webp", videos: [], isBare: true, cancellation)
            guard parts.patches.isEmpty, parts.exif.isEmpty else {
                throw .refused("a strip of the picture has metadata of its own")
            }
            return
        }
        var segments = JPEGSegments(in: part.within(range), keeping: .none, cancellation)
        try segments.searchAll()
        try patches += segments.patches
    }

    /// Writes a directory anew without the tags that go, and zeros behind it.
    private mutating func removeEntries(_ entries: [UInt8], at start: UInt64, _ next: UInt64?) throws(ProductFailure) {
        let reader = ByteReader(bytes: entries, isLittleEndian: isLittle)
        let all = 0..<(entries.count / 12)
        let staying = all.filter { !goes(reader.number(at: 12 * $0, count: 2) ?? 0) }
        if staying.count == all.count { return }
        // Memory is not for directories that overlap.
        guard all.count < 1000 else { throw .refused("a directory of the picture is too large") }
        func bytes(_ number: UInt64, _ count: Int) -> [UInt8] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
            return isLittle ? bytes : bytes.reversed()
        }
        let left = staying.flatMap { entries[(12 * $0)..<(12 * $0 + 12)] }
        let directory = bytes(UInt64(staying.count), 2) + left + (next.map { bytes($0, 4) } ?? [])
        try patches.append(.bytes(directory + [UInt8](repeating: 0, count: entries.count - left.count), at: start))
    }

    private func number(at offset: UInt64, count: Int) throws(ProductFailure) -> UInt64? {
        let bytes = try part.bytes(at: offset, count: count)
        return bytes.flatMap { ByteReader(bytes: $0, isLittleEndian: isLittle).number(at: 0, count: count) }
    }

    private func numbers(at place: UInt64, _ count: UInt64, _ size: Int) throws(ProductFailure) -> [UInt64] {
        // Whole numbers have four bytes at most.
        guard (1...4).contains(size), count <= UInt64(Self.mostParts),
            let bytes = try part.bytes(at: place, count: Int(count) * size)
        else { throw .refused("a table of the picture can't be read") }
        let reader = ByteReader(bytes: bytes, isLittleEndian: isLittle)
        return (0..<Int(count)).compactMap { reader.number(at: $0 * size, count: size) }
    }
}

/// How an uncompressed picture lies in the strips or tiles of TIFF (TIFF 6.0, sections 3, 15 and 21).
struct TIFFLayout {
    private let isTiled: Bool
    private let width: UInt64
    private let height: UInt64
    /// Rows of a strip or tile.
    private let rows: UInt64
    /// Of a pixel in one strip, in halves, since colours may be stored for several pixels together.
    private let halfBits: UInt64

    /// Creates a layout; nil if the tags don't tell it.
    ///
    /// - Parameter values: The numbers of tags.
    init?(_ values: [UInt64: [UInt64]]) {
        guard let width = values[256]?.first, let height = values[257]?.first, width > 0, height > 0,
            width < 1 << 32, height < 1 << 32
        else { return nil }
        isTiled = values[322] != nil
        self.width = values[322]?.first ?? width
        self.height = height
        rows = isTiled ? values[323]?.first ?? 0 : max(1, min(height, values[278]?.first ?? height))
        let samples = min(values[277]?.first ?? 1, 1 << 16)
        let bits = values[258].flatMap { $0.isEmpty ? nil : $0 } ?? [1]
        let isPlanar = values[284]?.first == 2
        let whole = bits.count < Int(samples) ? (bits.first ?? 1) * samples : bits.reduce(0, &+)
        if isPlanar || bits.contains(where: { $0 > 64 }) {
            // Planes may differ.
            halfBits = bits.min().map { 2 * min($0, 64) } ?? 2
        } else if values[262]?.first == 6, samples == 3 {
            halfBits = bits[0] * 2 + 1
        } else {
            halfBits = 2 * whole
        }
    }

    /// Returns how many bytes a strip or tile has at least.
    func bytes(ofPart index: Int) -> UInt64 {
        guard !isTiled, rows > 0 else { return size(of: rows) }
        let parts = (height + rows - 1) / rows
        let isLast = UInt64(index) % parts == parts - 1
        return size(of: isLast ? height - (parts - 1) * rows : rows)
    }

    private func size(of rows: UInt64) -> UInt64 {
        let (bits, isHuge) = width.multipliedReportingOverflow(by: halfBits)
        let (bytes, isHuger) = (bits / 16).multipliedReportingOverflow(by: rows)
        return isHuge || isHuger ? .max : bytes
    }
}

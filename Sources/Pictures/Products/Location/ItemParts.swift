/// The items of a HEIF or AVIF file (ISO 14496-12, 8.11). Coded pictures stay, and so do EXIF and XMP that exiftool reads; all
/// other data is cleared.
struct ItemParts {
    /// Where the data of the items that stay is.
    private(set) var kept: [Range<UInt64>] = []
    /// Where the EXIF items are that stay.
    private(set) var exif: [Range<UInt64>] = []
    /// Where the box with the items is.
    private(set) var metadata: Range<UInt64>?
    /// The changes that remove other boxes.
    private(set) var patches = Patches()

    private let part: FilePart
    private let cancellation: Cancellation
    /// Whether XMP and descriptions go as well.
    private let isBare: Bool
    /// Where items with the construction method 1 have their data.
    private var data: Range<UInt64>?
    private var types: [UInt64: String] = [:]
    private var places: [UInt64: [Range<UInt64>]] = [:]
    private var hasPicture = false
    /// Whether the file has items. A sequence of pictures may have tracks only.
    private(set) var isFound = false

    private static let boxes: Set = ["hdlr", "pitm", "iloc", "iinf", "iref", "iprp", "idat", "dinf", "grpl"]
    private static let pictures: Set = [
        "hvc1", "hev1", "lhv1", "hvt1", "av01", "avc1", "vvc1", "evc1", "jpeg", "jpgs", "j2k1", "j2ki", "unci", "mski",
        "grid", "iovl", "iden", "tmap", "tili", "sato",
    ]
    private static let properties: Set = [
        "ispe", "pixi", "colr", "pasp", "clap", "irot", "imir", "auxC", "hvcC", "lhvC", "av1C", "avcC", "vvcC", "evcC",
        "jpgC", "j2kH", "uncC", "cmpd", "a1op", "a1lx", "lsel", "rloc", "tols", "oinf", "clli", "mdcv", "cclv", "amve",
        "reve", "ndwt", "prdi", "rref", "iscl", "ster", "cmin", "cmex", "altt", "cmpC", "icef", "cpat", "cloc", "splz",
        "tilC", "mskC",
    ]
    private static let longestTable = 16 << 20
    private static let mostExtents = 100_000

    /// - Throws: ``ProductFailure``; `refused` if the tables can't be read.
    init(in part: FilePart, isBare: Bool = false, _ cancellation: Cancellation) throws(ProductFailure) {
        self.part = part
        self.cancellation = cancellation
        self.isBare = isBare
        guard let meta = try boxes(in: part.range).first(where: { $0.type == "meta" }), meta.content.count > 4 else {
            return
        }
        isFound = true
        metadata = meta.range
        let children = try boxes(in: (meta.content.lowerBound + 4)..<meta.content.upperBound)
        data = children.first { $0.type == "idat" }?.content
        for box in children {
            switch box.type {
            case "iinf": try readTypes(box)
            case "iprp": try searchProperties(box)
            case "hdlr" where isBare && box.content.count > 24:
                try patches += part.clearing((box.content.lowerBound + 24)..<box.content.upperBound, cancellation)
            case _ where Self.boxes.contains(box.type): break
            default: try patches += box.removal(in: part, cancellation)
            }
        }
        for box in children where box.type == "iloc" { try readPlaces(box) }
        if !hasPicture { throw .refused("no coded picture can be found in the file: it is damaged") }
        for (id, type) in types where type == "jpeg" { try searchJPEG(places[id] ?? []) }
        if let data {
            for gap in KeptRanges(kept).gaps(in: data) { try patches += part.clearing(gap, cancellation) }
        }
    }

    private func boxes(in range: Range<UInt64>) throws(ProductFailure) -> [Box] {
        var found: [Box] = []
        var offset = range.lowerBound
        while let box = try Box(at: offset, in: part.within(range)) {
            found.append(box)
            if found.count > 10_000 { throw .refused("the picture has too many boxes") }
            offset = box.range.upperBound
        }
        return found
    }

    private func bytes(of box: Box) throws(ProductFailure) -> [UInt8] {
        guard box.content.count <= Self.longestTable else { throw .refused("a table of the picture is too large") }
        return try part.bytes(at: box.content.lowerBound, count: box.content.count) ?? []
    }

    private mutating func searchProperties(_ box: Box) throws(ProductFailure) {
        for container in try boxes(in: box.content) where container.type == "ipco" {
            for property in try boxes(in: container.content)
            where !Self.properties.contains(property.type) || isBare && property.type == "altt" {
                try patches += property.removal(in: part, cancellation)
            }
        }
    }

    /// Searches an item that is a JPEG picture of its own.
    private mutating func searchJPEG(_ extents: [Range<UInt64>]) throws(ProductFailure) {
        guard extents.count == 1 else { throw .refused("the picture has a further one in pieces") }
        var segments = JPEGSegments(in: part.within(extents[0]), keeping: .none, cancellation)
        try segments.searchAll()
        try patches += segments.patches
    }

    /// Reads the types of the items that stay (ISO 14496-12, 8.11.6).
    private mutating func readTypes(_ box: Box) throws(ProductFailure) {
        let start = box.content.lowerBound
        let isLong = try part.number(at: start, count: 1) ?? 0 > 0
        for entry in try boxes(in: min(start + (isLong ? 8 : 6), box.content.upperBound)..<box.content.upperBound)
        where entry.type == "infe" {
            let bytes = try bytes(of: entry)
            let reader = ByteReader(bytes: bytes)
            guard let version = bytes.first, version >= 2 else { continue }
            let width = version == 2 ? 2 : 4
            guard let id = reader.number(at: 4, count: width), reader.number(at: 4 + width, count: 2) == 0 else {
                continue
            }
            let type = String(decoding: bytes.dropFirst(6 + width).prefix(4), as: UTF8.self)
            // A name, the type of its content, and how it is encoded.
            let texts = bytes.dropFirst(10 + width).split(separator: 0, omittingEmptySubsequences: false)
            let isXMP =
                !isBare && type == "mime" && texts.count > 1 && texts[1].elementsEqual("application/rdf+xml".utf8)
                && (texts.count < 3 || texts[2].isEmpty)
            if Self.pictures.contains(type) || type == "Exif" || isXMP { types[id] = type }
        }
    }

    /// Reads where the data of the items is (ISO 14496-12, 8.11.3).
    private mutating func readPlaces(_ box: Box) throws(ProductFailure) {
        let bytes = try bytes(of: box)
        let reader = ByteReader(bytes: bytes)
        guard let version = bytes.first, version <= 2, let sizes = reader.number(at: 4, count: 2) else {
            throw Self.damaged
        }
        let (offsetSize, lengthSize, baseSize) = (Int(sizes >> 12), Int(sizes >> 8 & 15), Int(sizes >> 4 & 15))
        let indexSize = version == 0 ? 0 : Int(sizes & 15)
        let wide = version == 2 ? 4 : 2
        var offset = 6
        func next(_ count: Int) throws(ProductFailure) -> UInt64 {
            if count == 0 { return 0 }
            guard let number = reader.number(at: offset, count: count) else { throw Self.damaged }
            offset += count
            return number
        }
        var total = 0
        for _ in 0..<(try next(wide)) {
            let id = try next(wide)
            let method = version == 0 ? 0 : try next(2) & 15
            let isOutside = try next(2) != 0
            let base = try next(baseSize)
            var extents: [Range<UInt64>] = []
            for _ in 0..<(try next(2)) {
                total += 1
                if total > Self.mostExtents { throw .refused("the picture has too many pieces") }
                _ = try next(indexSize)
                let (start, length) = (base &+ (try next(offsetSize)), try next(lengthSize))
                extents.append(try range(start, length, method))
            }
            guard let type = types[id], !isOutside else { continue }
            places[id] = extents
            let isPicture = Self.pictures.contains(type)
            // exiftool leaves items of no bytes; those of a picture would be all of the file.
            if isPicture, extents.contains(where: { $0.isEmpty }), method < 2 { throw Self.damaged }
            // exiftool reads only these.
            if isPicture, extents.contains(where: { !$0.isEmpty }) { hasPicture = true }
            if isPicture || method == 0 && extents.count == 1 { kept += extents }
            if type == "Exif", method == 0, extents.count == 1, !extents[0].isEmpty { exif += extents }
        }
    }

    private static let damaged = ProductFailure.refused("the tables of the picture are damaged")

    /// The place of an extent in the file; empty if it is in another item.
    private func range(_ start: UInt64, _ length: UInt64, _ method: UInt64) throws(ProductFailure) -> Range<UInt64> {
        let room: Range<UInt64>
        switch method {
        case 0: room = part.range
        case 1: room = data ?? part.range.lowerBound..<part.range.lowerBound
        default: return 0..<0
        }
        guard start <= UInt64(room.count), length <= UInt64(room.count) - start else { throw Self.damaged }
        return (room.lowerBound + start)..<(room.lowerBound + start + length)
    }
}

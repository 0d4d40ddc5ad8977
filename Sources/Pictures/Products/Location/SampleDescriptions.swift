/// The sample descriptions of a track (ISO 14496-12, 8.5.2; QuickTime File Format, sample descriptions). Boxes in them that are
/// not known to tell how samples are decoded or shown become free space.
struct SampleDescriptions {
    /// What a track holds.
    enum Kind {
        case pictures, sound, others
    }

    /// The changes that remove boxes.
    private(set) var patches = Patches()
    /// Why the descriptions can't be searched; nil if they can.
    private(set) var obstacle: String?

    private let part: FilePart
    private let cancellation: Cancellation
    private let kind: Kind
    private var version: UInt64 = 0

    private static let free: Set = ["free", "skip", "wide"]
    /// Colours, stereoscopic pictures, and how a 360° video is projected, besides what decoders need.
    private static let ofPictures = MovieBoxes.describing.union([
        "lhvC", "mvcC", "vexu", "hfov", "st3d", "sv3d", "auxi", "skip",
    ])
    private static let ofSound: Set = [
        "esds", "wave", "chan", "chnl", "alac", "dac3", "dec3", "dac4", "ddts", "udts", "damr", "dOps", "dfLa", "dmlp",
        "mhaC", "pcmC", "srat", "btrt", "SA3D", "SAND", "dapa", "iacb", "enda", "glbl", "free", "skip", "wide",
    ]
    /// Formats of other tracks: where the boxes begin, and which ones there are.
    private static let others: [String: (start: UInt64, boxes: Set<String>)] = [
        "tx3g": (38, ["ftab", "btrt"]), "wvtt": (8, ["vttC", "vlab", "btrt"]), "stpp": (8, ["btrt", "mime"]),
        "c608": (8, ["btrt"]), "c708": (8, ["btrt"]), "mp4s": (8, ["esds", "btrt"]), "tmcd": (26, ["name"]),
        "mebx": (8, ["keys", "btrt"]),
        "text": (51, ["ftab", "btrt"]),
    ]
    /// Boxes within these boxes.
    private static let inner: [String: Set<String>] = [
        "wave": [
            "frma", "mp4a", "enda", "esds", "alac", "chan", "samr", "damr", "dac3", "dec3", "QDCA", "QDMC", "free",
        ],
        "vexu": ["eyes", "proj", "pack", "free"], "eyes": ["stri", "hero", "cams", "cmfy", "must", "free"],
        "cams": ["blin"], "cmfy": ["dadj"], "pack": ["pkin"], "sv3d": ["svhd", "proj"],
        "proj": ["prhd", "equi", "cbmp", "mshp", "prji"],
    ]
    /// The most bytes of boxes with a fixed size.
    private static let sizes: [String: UInt64] = [
        "pasp": 8, "clap": 32, "fiel": 2, "gama": 4, "btrt": 12, "mdcv": 24, "clli": 4, "CoLL": 8, "SmDm": 28,
        "amve": 8, "st3d": 5, "ccst": 8, "enda": 2, "frma": 4, "srat": 8, "bitr": 8, "hfov": 8, "damr": 9, "auxi": 64,
    ]
    /// A description of pictures before its boxes, and where it has the depth of colours.
    private static let headOfPictures: UInt64 = 78
    private static let depth: UInt64 = 74
    private static let mostBoxes = 10_000
    private static let unreadable = "the description of a track can't be read"
    private var boxes = 0

    /// Searches the descriptions of a track.
    ///
    /// - Parameter box: The `stsd`.
    /// - Throws: ``ProductFailure``.
    init(in box: Box, of kind: Kind, _ part: FilePart, _ cancellation: Cancellation) throws(ProductFailure) {
        (self.kind, self.part, self.cancellation) = (kind, part, cancellation)
        guard box.content.count >= 8 else { return }
        version = try part.number(at: box.content.lowerBound, count: 1) ?? 0
        let (entries, rest) = try children(of: (box.content.lowerBound + 8)..<box.content.upperBound)
        for entry in entries { try search(entry: entry) }
        try patches += part.clearing(rest, cancellation)
    }

    /// Returns the boxes of a range, and what is behind them. QuickTime ends some ranges with a box without a name.
    private mutating func children(
        of range: Range<UInt64>
    ) throws(ProductFailure) -> (boxes: [Box], rest: Range<UInt64>) {
        var found: [Box] = []
        var offset = range.lowerBound
        while offset < range.upperBound, let box = try Box(at: offset, in: part.within(range)) {
            boxes += 1
            if boxes > Self.mostBoxes { throw .refused("the video has too many boxes") }
            if box.type == "\0\0\0\0", box.content.isEmpty { return (found, box.range.upperBound..<range.upperBound) }
            if !box.isNamed { break }
            found.append(box)
            offset = box.range.upperBound
        }
        return (found, offset..<range.upperBound)
    }

    private mutating func search(entry: Box) throws(ProductFailure) {
        let allowed: Set<String>
        let starts: [UInt64]
        switch kind {
        case .pictures: (allowed, starts) = (Self.ofPictures, [try endOfPalette(of: entry)])
        case .sound: (allowed, starts) = (Self.ofSound, try startsOfSound(entry))
        case .others:
            guard let format = Self.others[entry.type] else { return obstacle = Self.unreadable }
            (allowed, starts) = (format.boxes, try self.starts(of: entry, format.start))
        }
        let count = UInt64(entry.content.count)
        for start in starts where start <= count {
            let range = (entry.content.lowerBound + start)..<entry.content.upperBound
            let (found, rest) = try children(of: range)
            let isRead = try part.clearing(rest, cancellation).isEmpty
            // A last box may be cut, or something follows it; a wrong beginning has no boxes at all.
            if !isRead, found.isEmpty { continue }
            try search(found, rest, allowed, in: entry.type)
            return
        }
        if starts.contains(where: { $0 < count }) { obstacle = Self.unreadable }
    }

    private mutating func search(
        _ found: [Box], _ rest: Range<UInt64>, _ allowed: Set<String>, in type: String
    ) throws(ProductFailure) {
        let isKnown = kind == .others || BoxTrack.codecs.contains(type)
        for box in found {
            if Self.free.contains(box.type) || !allowed.contains(box.type) {
                let removal = try box.removal(in: part, cancellation)
                // Only its decoder knows what else it needs.
                if !isKnown, !Self.free.contains(box.type), !Self.carriers.contains(box.type) {
                    obstacle = Self.unreadable
                }
                try patches += removal
            } else if let inner = Self.inner[box.type] {
                let (boxes, rest) = try children(of: box.content)
                try search(boxes, rest, inner, in: type)
            } else if let size = try mostBytes(of: box), size < UInt64(box.content.count) {
                try patches += part.clearing((box.content.lowerBound + size)..<box.content.upperBound, cancellation)
            }
        }
        let cleared = try part.clearing(rest, cancellation)
        if !cleared.isEmpty, !isKnown { obstacle = Self.unreadable }
        try patches += cleared
    }

    /// Boxes with metadata, which no decoder needs.
    private static let carriers: Set = ["udta", "meta", "uuid", "loci", "XMP_"]

    private func mostBytes(of box: Box) throws(ProductFailure) -> UInt64? {
        if box.type == "colr", box.content.count >= 4 {
            let name = try part.bytes(at: box.content.lowerBound, count: 4) ?? []
            return name.elementsEqual("nclc".utf8) ? 10 : name.elementsEqual("nclx".utf8) ? 11 : nil
        }
        return Self.sizes[box.type]
    }

    /// Returns where the boxes of a description of pictures begin: behind a palette, if there is one (QuickTime File Format,
    /// colour table atoms).
    private func endOfPalette(of entry: Box) throws(ProductFailure) -> UInt64 {
        let start = entry.content.lowerBound
        guard let depth = try part.number(at: start + Self.depth, count: 2), [1, 2, 4, 8].contains(depth & 0x1F),
            try part.number(at: start + Self.depth + 2, count: 2) == 0,
            let last = try part.number(at: start + Self.headOfPictures + 6, count: 2), last < 256
        else { return Self.headOfPictures }
        let end = Self.headOfPictures + 8 + 8 * (last + 1)
        return end <= UInt64(entry.content.count) ? end : Self.headOfPictures
    }

    /// Returns where the boxes of a description of sound may begin: QuickTime has longer ones (sound sample descriptions V1
    /// and V2).
    private func startsOfSound(_ entry: Box) throws(ProductFailure) -> [UInt64] {
        switch try part.number(at: entry.content.lowerBound + 8, count: 2) {
        case 1 where version == 0: [44, 28]
        case 2: [64, 28]
        default: [28, 44]
        }
    }

    /// Returns where the boxes of another description may begin: some have texts before.
    private func starts(of entry: Box, _ head: UInt64) throws(ProductFailure) -> [UInt64] {
        let start = entry.content.lowerBound
        switch entry.type {
        case "text":
            // The name of a font. ffmpeg describes chapters as texts of 3GPP.
            let name = head < UInt64(entry.content.count) ? try part.number(at: start + head, count: 1) : nil
            return [38, name.map { head + 1 + $0 } ?? head]
        case "stpp":
            let bytes = try part.bytes(at: start, count: min(1 << 16, entry.content.count)) ?? []
            let ends = bytes.indices.dropFirst(Int(head)).filter { bytes[$0] == 0 }
            return [ends.count < 3 ? UInt64(bytes.count) : UInt64(ends[2] + 1)]
        default: return [head]
        }
    }
}

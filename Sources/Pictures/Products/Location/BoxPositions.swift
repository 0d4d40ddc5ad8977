/// The positions of an MP4 or QuickTime file, and the changes that remove them. Boxes, keys and tracks that are not known to
/// hold none become free space of the same size, so that no sample moves; so does all space between samples.
/// ``HiddenPositions`` finds EXIF and XMP in the same file.
struct BoxPositions {
    private(set) var patches = Patches()
    /// Why the positions can't be removed; nil if they can.
    private(set) var obstacle: String?
    /// Where the tracks of pictures and sound begin. Removing positions leaves all of them.
    private(set) var essence: [UInt64] = []

    private let part: FilePart
    private let cancellation: Cancellation
    private let videos: [Range<UInt64>]
    private let items: ItemParts?
    /// Whether only boxes and tracks stay that are needed to show the video.
    private let isBare: Bool
    private var boxes = 0
    private var tracks: [BoxTrack] = []
    /// Those of all tracks, also of those that go.
    private var numbersOfTracks: Set<UInt64> = []
    /// The samples of the tracks that stay, and the data of items.
    private var kept = KeptRanges([])
    /// These, and the samples of the tracks that go.
    private var owned = KeptRanges([])

    private static let mostBoxes = 100_000
    private static let longestText: Int = 1 << 16
    private static let longestTable = 16 << 20
    private static let longestTables = 256 << 20
    private static let mostChunks = 4_000_000

    /// Boxes that hold no position, or that are searched, by the box around them (ISO 14496-12; QuickTime File Format).
    static let known: [String: Set<String>] = [
        "": [
            "ftyp", "styp", "moov", "moof", "mdat", "meta", "udta", "uuid", "sidx", "ssix", "mfra", "pdin", "prft",
            "mpvd",
        ],
        "moov": ["mvhd", "iods", "trak", "mvex", "udta", "meta", "uuid", "cmov"],
        "trak": ["tkhd", "mdia", "edts", "tref", "tapt", "load", "udta", "meta", "uuid"],
        "edts": ["elst"], "dinf": ["dref"], "mvex": ["mehd", "trex"], "tapt": ["clef", "prof", "enof"],
        "gmhd": ["gmin", "text", "tmcd"],
        "mdia": ["mdhd", "hdlr", "minf", "elng"],
        "minf": ["vmhd", "smhd", "hmhd", "nmhd", "gmhd", "sthd", "hdlr", "dinf", "stbl"],
        "stbl": [
            "stsd", "stts", "ctts", "cslg", "stsc", "stsz", "stz2", "stco", "co64", "stss", "stps", "stsh", "padb",
            "stdp",
            "sdtp", "sbgp", "sgpd", "subs", "saiz", "saio",
        ],
        "moof": ["mfhd", "traf"],
        "traf": ["tfhd", "tfdt", "trun", "sdtp", "sbgp", "sgpd", "subs", "saiz", "saio", "senc"],
    ]
    /// User data that people write, and XMP, which exiftool reads; beside these, all texts with `©`.
    private static let userData: Set = [
        "meta", "XMP_", "name", "titl", "auth", "perf", "gnre", "dscp", "cprt", "yrrc", "albm", "hinf", "hnti", "kywd",
        "WLOC", "LOOP", "SelO", "AllF",
    ]
    /// User data of phones and cameras with a position: 3GPP TS 26.244, 8.10; ExifTool, QuickTime.pm.
    private static let carriers: Set = ["\u{A9}xyz", "\u{A9}gps", "\u{A9}loc"]
    /// iTunes's items; beside these, all texts with `©`.
    private static let listItems: Set = [
        "aART", "trkn", "disk", "gnre", "covr", "cpil", "tmpo", "pgap", "tvsh", "tven", "tvsn", "tves", "tvnn", "desc",
        "ldes", "sdes", "cprt", "stik", "hdvd", "rtng", "pcst", "catg", "keyw", "purd", "sonm", "soar", "soal", "soaa",
        "soco", "sosn", "akID", "apID", "cnID", "atID", "plID", "geID", "sfID", "xid ",
    ]
    /// XMP, and how a 360° video is projected.
    private static let uniqueTypes: [[UInt8]] = [
        [0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC],
        [0xFF, 0xCC, 0x82, 0x63, 0xF8, 0x55, 0x4A, 0x93, 0x88, 0x14, 0x58, 0x7A, 0x02, 0x52, 0x1F, 0xDD],
    ]

    /// Searches a file, or a part of one.
    ///
    /// - Parameters:
    ///   - removing: The numbers of tracks in which exiftool finds positions, from 1.
    ///   - items: The items of a picture, whose box `meta` is then searched already.
    ///   - videos: Videos within a picture, which are searched on their own.
    /// - Throws: ``ProductFailure`` if the file can't be read, has too many boxes, or the task was cancelled.
    init(
        in part: FilePart, _ cancellation: Cancellation, removing reported: Set<Int> = [], items: ItemParts? = nil,
        videos: [Range<UInt64>] = [], isBare: Bool = false
    ) throws(ProductFailure) {
        (self.part, self.cancellation, self.items, self.videos) = (part, cancellation, items, videos)
        self.isBare = isBare
        let children = try children(of: part.range)
        try searchTracks(children, reported)
        if let items { try patches += items.patches }
        for box in children { try searchTopLevel(box) }
        // What follows the last box is a trailer of a maker.
        try clearRest(behind: children, in: part.range)
    }

    /// Returns how many bytes of media data belong to no track and are not blank.
    ///
    /// - Throws: ``ProductFailure``; `refused` if the tables of a track are damaged.
    static func unownedBytes(in part: FilePart, _ cancellation: Cancellation) throws(ProductFailure) -> UInt64 {
        var positions = BoxPositions(part, cancellation)
        let children = try positions.children(of: part.range)
        try positions.readTracks(children)
        try positions.keepSamples(in: children, besides: [])
        var lost: UInt64 = 0
        for box in children where box.type == "mdat" { lost += try positions.unownedBytes(in: box) }
        return lost
    }

    private init(_ part: FilePart, _ cancellation: Cancellation) {
        (self.part, self.cancellation, items, videos, isBare) = (part, cancellation, nil, [], false)
    }

    /// Whether changes overwrite samples of pictures or sound, as those for a crafted track would. Segments and messages
    /// that go anyway don't count.
    func overwritesPicturesOrSound(_ patches: Patches) -> Bool {
        let cleared = KeptRanges(self.patches.map(\.range))
        return patches.contains { kept.overlaps($0.range) && !cleared.gaps(in: $0.range).isEmpty }
    }

    // MARK: Boxes

    private mutating func children(of range: Range<UInt64>) throws(ProductFailure) -> [Box] {
        var found: [Box] = []
        var offset = range.lowerBound
        let inner = part.within(range)
        while offset < range.upperBound, let box = try Box(at: offset, in: inner), box.type != "\0\0\0\0" {
            boxes += 1
            if boxes % 1000 == 0 { try cancellation.check() }
            if boxes > Self.mostBoxes { throw .refused("the video has too many boxes") }
            found.append(box)
            offset = box.range.upperBound
        }
        return found
    }

    private func content(of box: Box, atMost limit: Int = longestTable) throws(ProductFailure) -> [UInt8] {
        guard box.content.count <= limit else { throw .refused("a table of the video is too large") }
        return try part.bytes(at: box.content.lowerBound, count: box.content.count) ?? []
    }

    private mutating func remove(_ box: Box) throws(ProductFailure) {
        try patches += box.removal(in: part, cancellation)
    }

    /// Overwrites a range, but for samples.
    private mutating func clear(_ range: Range<UInt64>) throws(ProductFailure) {
        for gap in kept.gaps(in: range) { try patches += part.clearing(gap, cancellation) }
    }

    /// Searches the boxes within one of this type.
    private mutating func searchChildren(of box: Box) throws(ProductFailure) {
        let children = try children(of: box.content)
        for child in children { try search(child, within: box.type) }
        try clearRest(behind: children, in: box.content)
    }

    /// The sizes of headers, with times of four and of eight bytes.
    private static let headers: [String: (short: UInt64, long: UInt64)] = [
        "mvhd": (100, 112), "tkhd": (84, 96), "mdhd": (24, 36), "vmhd": (12, 12), "smhd": (8, 8), "nmhd": (4, 4),
        "sthd": (4, 4), "hmhd": (20, 20), "load": (16, 16), "clef": (12, 12), "prof": (12, 12), "enof": (12, 12),
        "gmin": (16, 16), "text": (36, 36), "mehd": (8, 12), "trex": (24, 24), "mfhd": (8, 8), "iods": (64, 64),
    ]
    /// The sizes of the entries of tables.
    private static let entries: [String: UInt64] = [
        "stts": 8, "ctts": 8, "stsc": 12, "stco": 4, "co64": 8, "stss": 4, "stps": 4, "elst": 12,
    ]

    /// Overwrites what is behind the fields of a header, or behind the entries of a table (ISO 14496-12).
    private mutating func clearEnd(of box: Box) throws(ProductFailure) {
        let size: UInt64
        if let header = Self.headers[box.type] {
            // Times and lengths have eight bytes in the second version.
            let isLong = try part.number(at: box.content.lowerBound, count: 1) == 1
            size = isLong ? header.long : header.short
        } else if let entry = Self.entries[box.type] {
            let isLong = try part.number(at: box.content.lowerBound, count: 1) == 1
            let count = try part.number(at: box.content.lowerBound + 4, count: 4) ?? 0
            size = 8 + count * (isLong && box.type == "elst" ? 20 : entry)
        } else {
            return
        }
        if size < UInt64(box.content.count) { try clear((box.content.lowerBound + size)..<box.content.upperBound) }
    }

    private mutating func clearRest(behind boxes: [Box], in range: Range<UInt64>) throws(ProductFailure) {
        try clear((boxes.last?.range.upperBound ?? range.lowerBound)..<range.upperBound)
    }

    /// Returns how many bytes of a box are in ranges that belong to no track and are not blank.
    func unownedBytes(in box: Box) throws(ProductFailure) -> UInt64 {
        var lost: UInt64 = 0
        for gap in owned.gaps(in: box.content) where try !part.clearing(gap, cancellation).isEmpty {
            lost += UInt64(gap.count)
        }
        return lost
    }

    /// Refuses a video of which most belongs to no track: a damaged header has hidden a track.
    private func requireOwners(of box: Box) throws(ProductFailure) {
        if items != nil { return }
        if try unownedBytes(in: box) > UInt64(part.range.count) / 4 {
            throw .refused("a large part of the video belongs to no track: it is damaged")
        }
    }

    private mutating func searchTopLevel(_ box: Box) throws(ProductFailure) {
        switch box.type {
        case "mdat":
            try requireOwners(of: box)
            try clear(box.content)
        case "meta" where items?.metadata == box.range: break
        case "mpvd":
            for gap in KeptRanges(videos).gaps(in: box.content) { try patches += part.clearing(gap, cancellation) }
        default: try search(box, within: "")
        }
    }

    private mutating func search(_ box: Box, within type: String) throws(ProductFailure) {
        let isBareEnough = !isBare || !["udta", "meta", "uuid"].contains(box.type)
        guard isBareEnough, Self.known[type]?.contains(box.type) == true else {
            // A crafted track may have its samples in it.
            if kept.overlaps(box.range) { obstacle = Self.damaged } else { try remove(box) }
            return
        }
        if isBare, items != nil { try clearTexts(of: box) }
        switch box.type {
        case "moov", "mdia", "minf", "stbl", "moof", "edts", "dinf", "mvex", "tapt", "gmhd": try searchChildren(of: box)
        case "stsd": try searchDescriptions(box)
        case "tref", "dref", "tmcd": try searchReferences(box)
        case "trak":
            if tracks.contains(where: { $0.box.range == box.range }) {
                try searchChildren(of: box)
            } else {
                try remove(box)
            }
        case "traf":
            let id = try children(of: box.content).first { $0.type == "tfhd" }
                .flatMap { header throws(ProductFailure) in try part.number(at: header.content.lowerBound + 4, count: 4)
                }
            if tracks.contains(where: { $0.id == id }) { try searchChildren(of: box) } else { try remove(box) }
        case "udta":
            let children = try children(of: box.content)
            for child in children { try searchUserData(child) }
            try clearRest(behind: children, in: box.content)
        case "meta": try searchMetadata(box)
        case "cmov": obstacle = "its description is compressed, so positions in it can't be removed"
        case "uuid":
            let name = try part.bytes(at: box.content.lowerBound, count: min(16, box.content.count)) ?? []
            if !Self.uniqueTypes.contains(name) { try remove(box) }
        default: try clearEnd(of: box)
        }
    }

    private mutating func searchDescriptions(_ box: Box) throws(ProductFailure) {
        let track = tracks.first { $0.box.range.contains(box.range.lowerBound) }
        let descriptions = try SampleDescriptions(in: box, of: track?.kind ?? .others, part, cancellation)
        try patches += descriptions.patches
        obstacle = obstacle ?? descriptions.obstacle
    }

    /// Searches references of a track to others, to files with its samples, and the settings of a time code.
    private mutating func searchReferences(_ box: Box) throws(ProductFailure) {
        let start = box.content.lowerBound + (box.type == "dref" ? 8 : 0)
        let children = try children(of: min(start, box.content.upperBound)..<box.content.upperBound)
        for child in children {
            switch box.type {
            case "tref": if try !refersToTracks(child) { try remove(child) }
            case "dref" where Self.files.contains(child.type):
                // The samples are in the same file.
                if try part.number(at: child.content.lowerBound + 3, count: 1) == 1 {
                    try clear((child.content.lowerBound + 4)..<child.content.upperBound)
                } else if child.content.count > 5 {
                    obstacle = obstacle ?? "a track refers to another file"
                }
            case "tmcd" where child.type == "tcmi":
                // The name of a font is at the end.
                let name = try part.number(at: child.content.lowerBound + 24, count: 1) ?? 0
                try clear(
                    min(child.content.lowerBound + 25 + name, child.content.upperBound)..<child.content.upperBound)
            default: try remove(child)
            }
        }
        try clearRest(behind: children, in: min(start, box.content.upperBound)..<box.content.upperBound)
    }

    private static let files: Set = ["url ", "urn ", "alis", "rsrc"]

    /// Whether the content consists of the numbers of tracks (ISO 14496-12, 8.3.3).
    private func refersToTracks(_ box: Box) throws(ProductFailure) -> Bool {
        guard box.content.count % 4 == 0, box.content.count <= 4 * 1000 else { return false }
        let reader = ByteReader(bytes: try content(of: box))
        return stride(from: 0, to: box.content.count, by: 4).allSatisfy { place in
            reader.number(at: place, count: 4).map { $0 == 0 || numbersOfTracks.contains($0) } ?? false
        }
    }

    /// Overwrites dates and names in the headers of an animation, which ffmpeg does not write anew.
    private mutating func clearTexts(of box: Box) throws(ProductFailure) {
        let isLong = try part.number(at: box.content.lowerBound, count: 1) == 1
        let texts: Range<UInt64>? =
            switch box.type {
            case "mvhd", "tkhd", "mdhd": 4..<(isLong ? 20 : 12)
            case "hdlr": 24..<max(24, UInt64(box.content.count))
            default: nil
            }
        guard let texts, texts.upperBound <= UInt64(box.content.count) else { return }
        try clear((box.content.lowerBound + texts.lowerBound)..<(box.content.lowerBound + texts.upperBound))
    }

    private static let damaged = "the positions are within a track of pictures or sound"

    private mutating func searchUserData(_ box: Box) throws(ProductFailure) {
        if box.type == "meta" { return try searchMetadata(box) }
        if try !isText(box, of: Self.userData) { try remove(box) }
    }

    /// Whether a box is known, or a text, and its content is no position.
    private func isText(_ box: Box, of known: Set<String>) throws(ProductFailure) -> Bool {
        guard known.contains(box.type) || box.type.hasPrefix("\u{A9}"), !Self.carriers.contains(box.type) else {
            return false
        }
        if box.type == "XMP_" { return true }
        guard box.content.count < Self.longestText else { return box.type == "covr" }
        return !PositionText.isFound(in: try content(of: box))
    }

    // MARK: Named metadata

    /// Searches metadata of QuickTime (`keys` with names, `ilst` with values) and of iTunes.
    private mutating func searchMetadata(_ box: Box) throws(ProductFailure) {
        // A full box has four bytes of version and flags, which QuickTime leaves out (ISO 14496-12, 8.11.1).
        var start = box.content.lowerBound
        if let bytes = try part.bytes(at: start, count: min(8, box.content.count)),
            !bytes.dropFirst(4).elementsEqual("hdlr".utf8)
        {
            start += 4
        }
        guard start <= box.content.upperBound else { return }
        let children = try children(of: start..<box.content.upperBound)
        var keys: Set<UInt64>?
        for box in children where box.type == "keys" { keys = MovieKeys.harmless(in: try content(of: box)) }
        for child in children {
            switch child.type {
            case "hdlr", "keys": break
            case "ilst":
                let items = try self.children(of: child.content)
                for item in items { try searchItem(item, keys) }
                try clearRest(behind: items, in: child.content)
            // Sony's cameras describe a recording in XML, with a group of positions.
            case "xml ": if try hasPositions(inXML: child) { try remove(child) }
            default: try remove(child)
            }
        }
        try clearRest(behind: children, in: start..<box.content.upperBound)
    }

    private func hasPositions(inXML box: Box) throws(ProductFailure) -> Bool {
        let text = String(decoding: try content(of: box), as: UTF8.self).lowercased()
        return !text.contains("nonrealtimemeta") || text.contains("gps") || text.contains("latitude")
    }

    private mutating func searchItem(_ item: Box, _ keys: Set<UInt64>?) throws(ProductFailure) {
        let index = item.type.unicodeScalars.reduce(UInt64(0)) { $0 << 8 | UInt64($1.value) }
        if let keys {
            guard keys.contains(index), item.content.count < Self.longestText else { return try remove(item) }
            if PositionText.isFound(in: try content(of: item)) { try remove(item) }
        } else if item.type == "----" {
            // iTunes's own, such as the length of silence before the sound.
            let names = ["iTunSMPB", "iTunNORM", "Encoding Params", "iTunes_CDDB"]
            let bytes = item.content.count < Self.longestText ? try content(of: item) : []
            if !names.contains(where: { !HiddenPositions.find(Array($0.utf8), in: bytes).isEmpty }) { try remove(item) }
        } else if try !isText(item, of: Self.listItems) {
            try remove(item)
        } else if item.type == "covr" {
            try searchCover(item)
        }
    }

    /// Searches a cover, which may have several pictures, each behind its type and language.
    private mutating func searchCover(_ item: Box) throws(ProductFailure) {
        for box in try children(of: item.content) where box.type == "data" && box.content.count > 8 {
            let picture = part.within((box.content.lowerBound + 8)..<box.content.upperBound)
            guard let removal = try AttachedPicture.patches(for: picture, cancellation) else {
                return try remove(item)
            }
            try patches += removal
        }
    }

    // MARK: Tracks

    /// Reads all tracks.
    private mutating func readTracks(_ children: [Box]) throws(ProductFailure) {
        var fragments = BoxFragments(part)
        var sizeOfTables = 0
        for movie in children where movie.type == "moov" {
            for box in try self.children(of: movie.content) {
                switch box.type {
                case "trak":
                    tracks.append(try track(box))
                    sizeOfTables += tracks.last?.sizeOfTables ?? 0
                    if sizeOfTables > Self.longestTables { throw .refused("the tables of the video are too large") }
                case "mvex":
                    for defaults in try self.children(of: box.content) where defaults.type == "trex" {
                        try fragments.addDefaults(defaults)
                    }
                default: break
                }
            }
        }
        for fragment in children where fragment.type == "moof" {
            var end: UInt64 = 0
            for box in try self.children(of: fragment.content) where box.type == "traf" {
                try fragments.add(box, try self.children(of: box.content), of: fragment, end: &end)
            }
        }
        numbersOfTracks = Set(tracks.map(\.id))
        for index in tracks.indices { tracks[index].fragments = fragments.samples[tracks[index].id] ?? [] }
    }

    /// Finds the tracks that stay, and their samples.
    private mutating func searchTracks(_ children: [Box], _ reported: Set<Int>) throws(ProductFailure) {
        try readTracks(children)
        var staying: [BoxTrack] = []
        var dropped: [BoxTrack] = []
        for (index, track) in tracks.enumerated() {
            let isPosition = try track.isPosition(cancellation) || reported.contains(index + 1)
            if track.isPictureOrSound {
                essence.append(track.box.range.lowerBound)
                if try track.isPosition(cancellation) {
                    obstacle = "it has a track of pictures or sound with the name of another kind"
                }
            } else if isPosition || isBare {
                dropped.append(track)
                continue
            }
            if track.isEncrypted { obstacle = obstacle ?? "it is encrypted" }
            if track.describesPosition { obstacle = "the description of a track contains a position" }
            staying.append(track)
        }
        tracks = staying
        try keepSamples(in: children, besides: dropped)
        for track in tracks { try patches += track.messages(isBare: isBare, cancellation) }
    }

    /// Collects the samples of the tracks that stay. A chunk of unknown size reaches to the next one, of any track.
    private mutating func keepSamples(in children: [Box], besides dropped: [BoxTrack]) throws(ProductFailure) {
        var ranges = (items?.kept ?? []) + videos
        var open: [Range<UInt64>] = []
        var total: UInt64 = 0
        for track in tracks {
            let samples = try track.samples(cancellation)
            ranges += samples
            total += samples.reduce(0) { $0 + UInt64($1.count) }
            if total > 4 * UInt64(part.range.count) || ranges.count > Self.mostChunks {
                throw .refused("too many tracks of the video share their samples")
            }
            if track.hasOpenChunks { open += samples }
        }
        // A damaged track has no samples to be told apart.
        let others = dropped.flatMap { (try? $0.samples(cancellation)) ?? [] }
        if !open.isEmpty {
            let ends = children.filter { $0.type == "mdat" }.map(\.range.upperBound) + [part.range.upperBound]
            let marks = ((ranges + others).map(\.lowerBound) + ends).sorted()
            var next = 0
            for chunk in open.sorted(by: { $0.lowerBound < $1.lowerBound }) {
                while next < marks.count, marks[next] <= chunk.lowerBound { next += 1 }
                if next < marks.count { ranges.append(chunk.lowerBound..<marks[next]) }
            }
        }
        kept = KeptRanges(ranges)
        owned = KeptRanges(ranges + others)
    }

    private mutating func track(_ box: Box) throws(ProductFailure) -> BoxTrack {
        var found: [Box] = []
        var handlers: [Box] = []
        var open = [box]
        while let outer = open.popLast() {
            for child in try children(of: outer.content) {
                if ["mdia", "minf", "stbl"].contains(child.type) { open.append(child) } else { found.append(child) }
                if child.type == "hdlr", outer.type == "mdia" { handlers.append(child) }
            }
        }
        return try BoxTrack(box, handlers: handlers, found, part)
    }
}

/// The positions of an MP4 or QuickTime file, and the changes that remove them. Boxes with positions become free space
/// of the same size, so that no sample moves. ``HiddenPositions`` finds EXIF and XMP in the same file.
struct BoxPositions {
    /// How much is removed.
    enum Thoroughness {
        /// Everything known to hold positions.
        case usual
        /// Also what nobody knows: free space, and boxes of makers. For files in which exiftool found more.
        case unknownToo(tracks: Set<Int>)
    }

    private(set) var patches: [Patch] = []
    /// Why the positions can't be removed; nil if they can.
    private(set) var obstacle: String?
    /// Where the tracks of pictures and sound begin. Removing positions leaves all of them.
    private(set) var essence: [UInt64] = []
    /// The tracks of pictures and sound whose samples can be found.
    private var essentialTracks: [BoxTrack] = []

    private let part: FilePart
    private let cancellation: Cancellation
    private let thoroughness: Thoroughness
    private var boxes = 0
    private var tracks = 0
    private var isFragmented = false

    private static let mostBoxes = 100_000
    private static let longestTable = 16 << 20
    /// User data of phones and cameras with a position: 3GPP TS 26.244, 8.10; QuickTime File Format, user data;
    /// ExifTool, QuickTime.pm.
    private static let carriers: Set = ["\u{A9}xyz", "loci", "gps ", "GPS ", "gps0", "gpsa", "GPMF", "\u{A9}gps"]
    private static let known: Set = [
        "ftyp", "styp", "moov", "moof", "mdat", "wide", "uuid", "meta", "sidx", "ssix", "mfra", "pdin", "pnot", "emsg",
        "prft", "mvhd", "iods", "trak", "mvex", "udta", "tkhd", "mdia", "edts", "tref", "tapt", "clip", "load", "ctab",
        "rmra", "cmov", "free", "skip",
    ]

    /// Searches a file, or a part of one.
    ///
    /// - Throws: ``ProductFailure`` if the file can't be read, has too many boxes, or the task was cancelled.
    init(
        in part: FilePart, _ cancellation: Cancellation, _ thoroughness: Thoroughness = .usual
    ) throws(ProductFailure) {
        self.part = part
        self.cancellation = cancellation
        self.thoroughness = thoroughness
        let children = try children(of: part.range)
        isFragmented = children.contains { $0.type == "moof" }
        for box in children {
            switch box.type {
            case "moov": try searchMovie(box)
            case "mdat", "moof": break
            default: try searchData(box)
            }
        }
    }

    // MARK: Boxes

    private mutating func children(of range: Range<UInt64>) throws(ProductFailure) -> [Box] {
        var found: [Box] = []
        var offset = range.lowerBound
        let inner = FilePart(file: part.file, range: range)
        while offset < range.upperBound, let box = try Box(at: offset, in: inner) {
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

    private mutating func remove(_ box: Box) { patches += box.removal }

    private mutating func searchMovie(_ movie: Box) throws(ProductFailure) {
        let children = try children(of: movie.content)
        isFragmented = isFragmented || children.contains { $0.type == "mvex" }
        for box in children {
            switch box.type {
            case "trak": try searchTrack(box)
            case "cmov": obstacle = "its description is compressed, so positions in it can't be removed"
            default: try searchData(box)
            }
        }
    }

    /// Searches a box that describes the file or a track.
    private mutating func searchData(_ box: Box) throws(ProductFailure) {
        switch box.type {
        case "udta": for child in try children(of: box.content) { try searchUserData(child) }
        case "meta": try searchMetadata(box)
        case _ where Self.carriers.contains(box.type): remove(box)
        case "free", "skip", "wide":
            if isThorough, try !isBlank(box) { remove(box) }
        case _ where isThorough && !Self.known.contains(box.type): remove(box)
        default: break
        }
    }

    private mutating func searchUserData(_ box: Box) throws(ProductFailure) {
        if box.type == "meta" { return try searchMetadata(box) }
        let isText = box.type.hasPrefix("\u{A9}")
        if Self.carriers.contains(box.type) || isThorough && !isText { return remove(box) }
        if box.content.count < 1 << 16, PositionText.isFound(in: try content(of: box)) { remove(box) }
    }

    private var isThorough: Bool { if case .unknownToo = thoroughness { true } else { false } }

    private func isBlank(_ box: Box) throws(ProductFailure) -> Bool {
        // Long free space is rare; without a look into it, it only costs the time to overwrite it.
        if box.content.count >= 1 << 16 { return false }
        return try content(of: box).allSatisfy { $0 == 0 }
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
        var positions: Set<UInt64> = []
        for keys in children where keys.type == "keys" { positions = Self.positions(inKeys: try content(of: keys)) }
        for child in children {
            switch child.type {
            case "ilst": for item in try self.children(of: child.content) { try searchItem(item, positions) }
            // Sony's cameras describe a recording in XML, with a group of positions.
            case "xml ", "bxml": if try hasPositions(inXML: child) { remove(child) }
            default: break
            }
        }
    }

    private func hasPositions(inXML box: Box) throws(ProductFailure) -> Bool {
        if isThorough { return true }
        let text = String(decoding: try content(of: box), as: UTF8.self).lowercased()
        return text.contains("gps") || text.contains("latitude")
    }

    private mutating func searchItem(_ item: Box, _ positions: Set<UInt64>) throws(ProductFailure) {
        let index = item.type.unicodeScalars.reduce(UInt64(0)) { $0 << 8 | UInt64($1.value) }
        if positions.contains(index) || Self.carriers.contains(item.type) { return remove(item) }
        guard item.content.count < 1 << 16 else { return }
        let bytes = try content(of: item)
        let isNamed = item.type == "----" && Self.isPositionKey(bytes)
        if isNamed || PositionText.isFound(in: bytes) { remove(item) }
    }

    /// Returns the numbers of the keys that name a position (QuickTime File Format, metadata item keys).
    private static func positions(inKeys bytes: [UInt8]) -> Set<UInt64> {
        let reader = ByteReader(bytes: bytes)
        var found: Set<UInt64> = []
        var offset = 8
        var index: UInt64 = 1
        while let size = reader.number(at: offset, count: 4), size >= 8, offset + Int(size) <= bytes.count {
            if isPositionKey(bytes[(offset + 8)..<(offset + Int(size))]) { found.insert(index) }
            offset += Int(size)
            index += 1
        }
        return found
    }

    private static func isPositionKey(_ name: some Collection<UInt8>) -> Bool {
        let name = String(decoding: name, as: UTF8.self).lowercased()
        return ["location", "gps", "latitude", "longitude", "iso6709"].contains { name.contains($0) }
    }

    // MARK: Tracks

    /// Whether changes overwrite samples of pictures or sound, as those for a crafted track would. Fragments are not
    /// searched.
    ///
    /// - Throws: ``ProductFailure``; `refused` if the tables of a track are damaged.
    func overwritesPicturesOrSound(_ patches: [Patch]) throws(ProductFailure) -> Bool {
        let changed = patches.map(\.range).sorted { $0.lowerBound < $1.lowerBound }
        if changed.isEmpty { return false }
        // The furthest end of each change and all before it.
        var ends: [UInt64] = []
        for range in changed { ends.append(max(ends.last ?? 0, range.upperBound)) }
        for track in essentialTracks {
            for samples in try track.samples(cancellation) {
                var (first, last) = (0, changed.count)
                while first < last {
                    let middle = (first + last) / 2
                    if changed[middle].lowerBound < samples.upperBound { first = middle + 1 } else { last = middle }
                }
                if first > 0, ends[first - 1] > samples.lowerBound { return true }
            }
        }
        return false
    }

    private mutating func searchTrack(_ box: Box) throws(ProductFailure) {
        tracks += 1
        let inner = try descendants(of: box)
        let track = try BoxTrack(handlers: inner.filter { $0.isHandler }.map(\.box), inner.map(\.box), part)
        if track.isPictureOrSound {
            essence.append(box.range.lowerBound)
            if !isFragmented { essentialTracks.append(track) }
        }
        if try isPosition(track) {
            if track.isPictureOrSound {
                obstacle = "it has a track of pictures or sound with the name of another kind"
            } else if !isFragmented {
                remove(box)
                patches += try track.samples(cancellation).map { .zeros($0) }
            }
            return
        }
        for child in try children(of: box.content) where ["udta", "meta"].contains(child.type) {
            try searchData(child)
        }
    }

    /// Whether a track holds positions. The samples of a fragmented file are not read.
    private mutating func isPosition(_ track: BoxTrack) throws(ProductFailure) -> Bool {
        if isFragmented, track.isUnknownData || track.isText {
            obstacle = "it has a track of text or data in fragments, which is not searched"
            return true
        }
        if case .unknownToo(let reported) = thoroughness, reported.contains(tracks), !track.isPictureOrSound {
            return true
        }
        if track.isUnknownData { return true }
        return try track.hasPositionsInText(cancellation)
    }

    /// Returns the boxes of a track that describe its samples, and which of them are handlers directly within `mdia`.
    private mutating func descendants(of track: Box) throws(ProductFailure) -> [(box: Box, isHandler: Bool)] {
        var found: [(box: Box, isHandler: Bool)] = []
        var open = [track]
        while let box = open.popLast() {
            for child in try children(of: box.content) {
                if ["mdia", "minf", "stbl"].contains(child.type) {
                    open.append(child)
                } else {
                    found.append((child, child.type == "hdlr" && box.type == "mdia"))
                }
            }
        }
        return found
    }
}

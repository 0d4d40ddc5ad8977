/// The positions of a Matroska or WebM file, and the changes that remove them. Tags with positions become void elements
/// of the same size (RFC 8794, 11.3.2), so that no block moves.
struct MatroskaPositions {
    private(set) var patches: [Patch] = []
    /// Why the positions can't be removed; nil if they can.
    private(set) var obstacle: String?

    private let part: FilePart
    private let cancellation: Cancellation
    private let changesAttachments: Bool
    private var elements = 0
    private var subtitleTracks: Set<UInt64> = []

    private static let mostElements = 50_000_000
    private static let longestTag: UInt64 = 1 << 20
    private static let longestPicture = 64 << 20

    /// Element IDs (RFC 9559, section 5.1).
    private enum ID {
        static let segment: UInt64 = 0x1853_8067
        static let cluster: UInt64 = 0x1F43_B675
        static let blockGroup: UInt64 = 0xA0
        static let block: UInt64 = 0xA1
        static let simpleBlock: UInt64 = 0xA3
        static let tracks: UInt64 = 0x1654_AE6B
        static let trackEntry: UInt64 = 0xAE
        static let trackNumber: UInt64 = 0xD7
        static let trackType: UInt64 = 0x83
        static let codec: UInt64 = 0x86
        static let encodings: UInt64 = 0x6D80
        static let attachments: UInt64 = 0x1941_A469
        static let attachedFile: UInt64 = 0x61A7
        static let fileData: UInt64 = 0x465C
        static let tags: UInt64 = 0x1254_C367
        static let tag: UInt64 = 0x7373
        static let simpleTag: UInt64 = 0x67C8
        static let tagName: UInt64 = 0x45A3
        static let tagString: UInt64 = 0x4487
        static let checksum: UInt64 = 0xBF
    }

    /// - Parameters:
    ///   - changesAttachments: Whether attached files are changed, so that their checksum must go.
    /// - Throws: ``ProductFailure`` if the file can't be read, has too many elements, or the task was cancelled.
    init(
        in part: FilePart, changesAttachments: Bool, _ cancellation: Cancellation
    ) throws(ProductFailure) {
        self.part = part
        self.changesAttachments = changesAttachments
        self.cancellation = cancellation
        try search(part.range)
    }

    /// Searches the elements in a range one after the other, so that clusters of unknown size are no special case.
    private mutating func search(_ range: Range<UInt64>) throws(ProductFailure) {
        var offset = range.lowerBound
        while let element = try next(at: offset, before: range.upperBound) {
            offset = element.range.upperBound
            switch element.id {
            // Their children follow.
            case ID.segment: offset = element.content.lowerBound
            case ID.cluster, ID.blockGroup:
                if element.hasUnknownSize || !subtitleTracks.isEmpty { offset = element.content.lowerBound }
            case ID.tracks: try searchTracks(element)
            case ID.tags: _ = try removePositions(in: element)
            case ID.attachments: try searchAttachments(element)
            case ID.block, ID.simpleBlock: try searchBlock(element)
            default:
                if element.hasUnknownSize { throw .refused("the video has an element without size") }
            }
        }
    }

    /// Reads the header of an element; nil at the end.
    private mutating func next(at offset: UInt64, before end: UInt64) throws(ProductFailure) -> Element? {
        elements += 1
        if elements % 10_000 == 0 { try cancellation.check() }
        if elements > Self.mostElements { throw .refused("the video has too many elements") }
        return try Element(at: offset, in: FilePart(file: part.file, range: part.range.lowerBound..<end))
    }

    private mutating func children(of element: Element) throws(ProductFailure) -> [Element] {
        var found: [Element] = []
        var offset = element.content.lowerBound
        while let child = try next(at: offset, before: element.content.upperBound) {
            found.append(child)
            if found.count > 100_000 { throw .refused("the video has too many elements") }
            offset = child.range.upperBound
        }
        return found
    }

    private func content(of element: Element?) throws(ProductFailure) -> [UInt8] {
        guard let element, element.content.count <= Self.longestTag else { return [] }
        return try part.bytes(at: element.content.lowerBound, count: element.content.count) ?? []
    }

    // MARK: Tags

    /// Makes every tag with a position void, and checksums with it.
    ///
    /// - Returns: Whether there was one in the element.
    private mutating func removePositions(in element: Element) throws(ProductFailure) -> Bool {
        let children = try children(of: element)
        if element.id == ID.simpleTag, try isPosition(children) {
            patches += element.removal
            return true
        }
        var isChanged = false
        for child in children where [ID.tag, ID.simpleTag].contains(child.id) {
            if try removePositions(in: child) { isChanged = true }
        }
        if isChanged { for child in children where child.id == ID.checksum { patches += child.removal } }
        return isChanged
    }

    private func isPosition(_ children: [Element]) throws(ProductFailure) -> Bool {
        let name = String(decoding: try content(of: children.first { $0.id == ID.tagName }), as: UTF8.self).lowercased()
        let words = ["location", "gps", "latitude", "longitude", "iso6709", "coordinates"]
        if words.contains(where: { name.contains($0) }) { return true }
        return PositionText.isFound(in: try content(of: children.first { $0.id == ID.tagString }))
    }

    // MARK: Attachments

    /// JPEG, GIF, and fonts: TrueType, OpenType, collections, WOFF.
    private static let attachable: [[UInt8]] = [
        [0xFF, 0xD8, 0xFF], Array("GIF8".utf8), [0, 1, 0, 0, 0], Array("OTTO".utf8), Array("ttcf".utf8),
        Array("true".utf8), Array("wOFF".utf8), Array("wOF2".utf8),
    ]
    private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// exiftool does not read attached files, and ``HiddenPositions`` finds EXIF and XMP only if they are not compressed.
    private mutating func searchAttachments(_ attachments: Element) throws(ProductFailure) {
        for child in try children(of: attachments) {
            if child.id == ID.checksum, changesAttachments { patches += child.removal }
            guard child.id == ID.attachedFile else { continue }
            for data in try children(of: child) where data.id == ID.fileData {
                if try !isAttachable(data) { obstacle = "it has an attached file that may contain positions" }
            }
        }
    }

    private func isAttachable(_ data: Element) throws(ProductFailure) -> Bool {
        let start = try part.bytes(at: data.content.lowerBound, count: min(8, data.content.count)) ?? []
        if Self.attachable.contains(where: { start.starts(with: $0) }) { return true }
        guard start == Self.png, data.content.count <= Self.longestPicture else { return false }
        let bytes = try part.bytes(at: data.content.lowerBound, count: data.content.count) ?? []
        return ["eXIf", "zTXt", "iTXt", "tEXt"].allSatisfy { HiddenPositions.find(Array($0.utf8), in: bytes).isEmpty }
    }

    // MARK: Tracks

    private static let video: UInt64 = 1
    private static let audio: UInt64 = 2
    private static let logo: UInt64 = 16
    private static let subtitle: UInt64 = 17

    private mutating func searchTracks(_ tracks: Element) throws(ProductFailure) {
        for entry in try children(of: tracks) where entry.id == ID.trackEntry {
            let children = try children(of: entry)
            let type = try number(in: children.first { $0.id == ID.trackType })
            let codec = String(decoding: try content(of: children.first { $0.id == ID.codec }), as: UTF8.self)
            switch type {
            case Self.video, Self.audio, Self.logo: break
            case Self.subtitle where children.contains { $0.id == ID.encodings } && !Self.hasPictures(codec):
                obstacle = "its subtitles are compressed or encrypted, so they can't be searched"
            case Self.subtitle where !codec.hasPrefix("D_WEBVTT/METADATA"):
                subtitleTracks.insert(try number(in: children.first { $0.id == ID.trackNumber }))
            default: obstacle = "it has a track of data, which may contain positions"
            }
        }
    }

    /// Whether subtitles are pictures, which DVDs and Blu-rays often have compressed.
    private static func hasPictures(_ codec: String) -> Bool {
        ["S_VOBSUB", "S_HDMV/PGS", "S_DVBSUB"].contains { codec.hasPrefix($0) }
    }

    private func number(in element: Element?) throws(ProductFailure) -> UInt64 {
        let bytes = try content(of: element)
        return ByteReader(bytes: bytes).number(at: 0, count: bytes.count) ?? 0
    }

    /// Searches the text of a subtitle. Its track's number comes first, then a time and flags.
    private mutating func searchBlock(_ block: Element) throws(ProductFailure) {
        let start = try part.bytes(at: block.content.lowerBound, count: min(8, block.content.count)) ?? []
        guard let track = VariableNumber(start[...], keepsMarker: false), subtitleTracks.contains(track.value),
            PositionText.isFound(in: try content(of: block))
        else { return }
        obstacle = "its subtitles contain positions"
    }
}

/// An element of EBML (RFC 8794, section 5).
private struct Element {
    let id: UInt64
    let range: Range<UInt64>
    let content: Range<UInt64>
    let hasUnknownSize: Bool

    /// Reads the header of an element; nil if there is none. An element that reaches over the end is cut.
    init?(at offset: UInt64, in part: FilePart) throws(ProductFailure) {
        guard offset < part.range.upperBound else { return nil }
        let count = Int(min(12, part.range.upperBound - offset))
        guard let header = try part.bytes(at: offset, count: count),
            let id = VariableNumber(header[...], keepsMarker: true), id.length <= 4,
            let size = VariableNumber(header.dropFirst(id.length), keepsMarker: false)
        else { return nil }
        self.id = id.value
        hasUnknownSize = size.isUnknown
        let start = offset + UInt64(id.length + size.length)
        let end = size.isUnknown ? part.range.upperBound : min(start + size.value, part.range.upperBound)
        guard start <= end else { return nil }
        range = offset..<end
        content = start..<end
    }

    /// Makes the element void, with a size of one or eight bytes.
    var removal: [Patch] {
        let count = UInt64(range.count)
        let void: [UInt8]
        if count - 2 < 0x7F {
            void = [0xEC, UInt8(0x80 | count - 2)]
        } else {
            let size = count - 9 | 1 << 56
            void = [0xEC] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: size >> (8 * $0)) }
        }
        return [.bytes(void, at: range.lowerBound), .zeros((range.lowerBound + UInt64(void.count))..<range.upperBound)]
    }
}

/// A number with a length of its own (RFC 8794, section 4).
private struct VariableNumber {
    let value: UInt64
    let length: Int
    /// Whether all bits are set, as in a size that was unknown when it was written.
    let isUnknown: Bool

    /// - Parameter keepsMarker: Whether the marker of the length counts, as in element IDs.
    init?(_ bytes: ArraySlice<UInt8>, keepsMarker: Bool) {
        guard let first = bytes.first, first != 0 else { return nil }
        length = first.leadingZeroBitCount + 1
        guard bytes.count >= length else { return nil }
        let whole = bytes.prefix(length).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let marker = UInt64(1) << (7 * UInt64(length))
        value = keepsMarker ? whole : whole & (marker - 1)
        isUnknown = whole & (marker - 1) == marker - 1
    }
}

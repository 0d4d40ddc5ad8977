import CLinux
import LinuxSystem

/// Positions in files within a file: the EXIF and XMP of previews, of further pictures behind the first, and of
/// covers, and the blocks of dash cams. exiftool neither reads nor writes all of these.
///
/// Searches bytes, whatever the format around them. The signatures are long enough to never occur by chance.
struct HiddenPositions {
    /// The changes that remove what was found.
    private(set) var patches = Patches()
    /// A position that can't be removed; nil if there is none.
    private(set) var obstacle: String?

    /// Whether nothing was found.
    var isEmpty: Bool { patches.isEmpty && obstacle == nil }

    private static let exif = Array("Exif\0\0".utf8)
    /// The entry of a latitude in a directory of positions, in both orders of bytes.
    private static let latitudes: [(pattern: [UInt8], isLittle: Bool)] = [
        ([2, 0, 5, 0, 3, 0, 0, 0], true), ([0, 2, 0, 5, 0, 0, 0, 3], false),
    ]
    /// The beginnings of `GPSLatitude` and `GpsLatitude` in UTF-16, in which exiftool reads no XMP.
    private static let wide: [[UInt8]] = [[0x47, 0, 0x50, 0, 0x53, 0, 0x4C], [0x47, 0, 0x70, 0, 0x73, 0, 0x4C]]
    /// EXIF in resources of Photoshop.
    private static let resources: [[UInt8]] = [0x22, 0x23].map { Array("8BIM".utf8) + [4, $0] }
    /// What AVCHD camcorders write into the pictures (ExifTool, H264.pm).
    private static let camcorder: [UInt8] =
        [0x17, 0xEE, 0x8C, 0x60, 0xF8, 0x4D, 0x11, 0xD9, 0x8C, 0xD6, 0x08, 0x00, 0x20, 0x0C, 0x9A, 0x66]
        + Array("MDPM".utf8)
    private static let freeGPS = Array("freeGPS ".utf8)
    /// The end of `GPSLatitude`, and of `GpsLongtitude`, as a maker of drones writes it.
    private static let name = Array("itude".utf8)
    /// The beginning of the other properties of EXIF in XMP, such as `exif:GPSAltitude`.
    private static let property = Array("exif:GPS".utf8)
    /// Sentences of a GPS receiver (NMEA 0183), as cameras append them to a picture or store them in a video.
    private static let sentences = ["$GPRMC,", "$GNRMC,", "$GPGGA,", "$GNGGA,"].map { Array($0.utf8) }
    /// What stands before a coordinate in JSON, as phones append it to a picture, in a list of values, and in XML.
    private static let marks = [":", "=", ">"].map { Array($0.utf8) }
    /// Properties of other namespaces of XMP.
    private static let geography = ["geo:lat", "geo:lon", "georss:point"].map { Array($0.utf8) }
    /// The beginnings of pictures in base64, as XMP holds them: JPEG, PNG, TIFF, WebP.
    private static let encoded = ["/9j/", "iVBORw0KGgo", "SUkqA", "TU0AK", "UklGR"].map { Array($0.utf8) }
    /// What such a picture has if it holds EXIF, XMP or texts.
    private static let marksOfMetadata =
        [exif, xmp] + ["eXIf", "zTXt", "tEXt", "iTXt", "EXIF", "XMP ", "II*\0", "MM\0*"].map { Array($0.utf8) }
    private static let shortestEncoded = 20
    private static let longestEncoded: UInt64 = 256 << 10
    /// More text in base64, and more names of positions, are those of a file that is made to take long.
    private static let mostEncoded = 16 << 20
    private static let mostNames = 10_000
    private var encodedBytes = 0
    private var names = 0
    private static let xmp = Array("http://ns.adobe.com/xap/".utf8)
    private static let pieceSize = 1 << 20
    private static let overlap = 32
    private static let mostPatches = 10_000
    /// Dash cams write a block of some KiB for each second.
    private static let longestBlock: UInt64 = 1 << 20

    /// Searches a part of a file.
    ///
    /// - Parameter isTransportStream: Whether exiftool reads the messages of camcorders, which need not hold a position.
    /// - Throws: ``ProductFailure`` if the file can't be read or the task was cancelled.
    init(
        in part: FilePart, _ cancellation: Cancellation, isTransportStream: Bool = false
    ) throws(ProductFailure) {
        var offset = part.range.lowerBound
        while offset < part.range.upperBound {
            try cancellation.check()
            let count = Int(min(UInt64(Self.pieceSize + Self.overlap), part.range.upperBound - offset))
            guard let piece = try part.bytes(at: offset, count: count) else { return }
            // A hit in the overlap belongs to the next piece.
            let isLast = offset + UInt64(count) == part.range.upperBound
            let end = isLast ? count : Self.pieceSize
            for position in Self.find(Self.exif, in: piece) where position < end {
                try addTIFF(at: offset + UInt64(position + Self.exif.count), in: part)
            }
            for pattern in Self.resources {
                for position in Self.find(pattern, in: piece) where position < end {
                    // The name of the resource and its size follow.
                    try addTIFF(at: offset + UInt64(position + pattern.count + 6), in: part)
                }
            }
            for (pattern, isLittle) in Self.latitudes {
                for position in Self.find(pattern, in: piece) where position < end {
                    try addLatitude(at: offset + UInt64(position), isLittle, in: part)
                }
            }
            for position in Self.find(Self.camcorder, in: piece) where position < end && !isTransportStream {
                obstacle = obstacle ?? "its pictures contain a position at byte \(offset + UInt64(position))"
            }
            if Self.wide.contains(where: { !Self.find($0, in: piece).isEmpty }) {
                obstacle = obstacle ?? "the file contains the name of a position in UTF-16"
            }
            for position in Self.find(Self.freeGPS, in: piece) where position < end {
                try addBlock(at: offset + UInt64(position), in: part)
            }
            for position in Self.find(Self.name, in: piece) where position < end {
                try addProperty(at: offset + UInt64(position), in: part)
            }
            for position in Self.find(Self.property, in: piece) where position < end {
                try addProperty(at: offset + UInt64(position + 5), in: part)
            }
            for pattern in Self.geography {
                for position in Self.find(pattern, in: piece) where position < end {
                    try addProperty(at: offset + UInt64(position + pattern.count - 1), in: part, isPosition: true)
                }
            }
            for pattern in Self.encoded {
                for position in Self.find(pattern, in: piece) where position < end {
                    try addEncodedPicture(at: offset + UInt64(position), in: part)
                }
            }
            for pattern in Self.sentences {
                for position in Self.find(pattern, in: piece) where position < end {
                    try addSentence(at: offset + UInt64(position), in: part)
                }
            }
            for mark in Self.marks {
                for position in Self.find(mark, in: piece) where position < end {
                    try addNumber(at: offset + UInt64(position), before: piece[position...].dropFirst(), in: part)
                }
            }
            if patches.count > Self.mostPatches { throw .refused("the file contains too many positions") }
            offset += UInt64(min(count, Self.pieceSize))
        }
    }

    /// Removes what a search finds, and searches again.
    ///
    /// - Returns: Whether there was anything.
    /// - Throws: ``ProductFailure``; `refused` if a position can't be removed.
    static func remove(from part: FilePart, _ cancellation: Cancellation) throws(ProductFailure) -> Bool {
        let found = try HiddenPositions(in: part, cancellation)
        if found.isEmpty { return false }
        try found.patches.apply(to: part.file, cancellation)
        let left = try HiddenPositions(in: part, cancellation)
        if !left.isEmpty { throw .refused(left.obstacle ?? "a preview has a position that can't be removed") }
        return true
    }

    /// Returns where a pattern begins, at most so many times.
    static func find(_ pattern: [UInt8], in bytes: [UInt8], most: Int = .max) -> [Int] {
        bytes.withUnsafeBytes { buffer in
            var found: [Int] = []
            var start = 0
            while let base = buffer.baseAddress, start < buffer.count, found.count < most,
                let hit = outbox_find(base + start, buffer.count - start, pattern, pattern.count)
            {
                let position = hit - base
                found.append(position)
                start = position + 1
            }
            return found
        }
    }

    // MARK: EXIF

    /// Empties the directories of positions in a TIFF structure (TIFF 6.0, section 2; EXIF 2.32, 4.6.6). Each is left with its
    /// version only, since a directory must not be empty.
    private mutating func addTIFF(at start: UInt64, in part: FilePart) throws(ProductFailure) {
        guard let header = try part.bytes(at: start, count: 4),
            Self.headers.contains(where: { header.elementsEqual($0) })
        else { return }
        let block = part.within(start..<(try endOfSegment(before: start, in: part) ?? part.range.upperBound))
        do throws(ProductFailure) {
            let directories = try ExifDirectories(in: block)
            for positions in directories.positions {
                try empty(positions, of: start, directories.isLittle, part)
            }
        } catch {
            guard case .refused(let reason) = error else { throw error }
            obstacle = obstacle ?? reason
        }
    }

    private static let headers: [[UInt8]] = [Array("II*\0".utf8), Array("MM\0*".utf8)]

    /// Returns where a segment of JPEG with EXIF ends; nil if the structure is in no segment.
    private func endOfSegment(before start: UInt64, in part: FilePart) throws(ProductFailure) -> UInt64? {
        let length = UInt64(4 + Self.exif.count)
        guard start >= length, let marker = try part.number(at: start - length, count: 2), marker == 0xFFE1,
            let size = try part.number(at: start - length + 2, count: 2), size >= length - 2
        else { return nil }
        let end = start - length + 2 + size
        return end <= part.range.upperBound ? end : nil
    }

    /// Notes a directory of positions that no directory led to, such as one that a program unlinked and left. The entry
    /// before that of the latitude names its hemisphere.
    private mutating func addLatitude(at offset: UInt64, _ isLittle: Bool, in part: FilePart) throws(ProductFailure) {
        let entry: [UInt8] = isLittle ? [1, 0, 2, 0, 2, 0, 0, 0] : [0, 1, 0, 2, 0, 0, 0, 2]
        guard offset >= 12, let before = try part.bytes(at: offset - 12, count: 12), before.starts(with: entry),
            [UInt8(ascii: "N"), UInt8(ascii: "S")].contains(before[8])
        else { return }
        obstacle = obstacle ?? "the file contains a position that nothing leads to, at byte \(offset)"
    }

    private mutating func empty(
        _ positions: ExifDirectories.Positions, of start: UInt64, _ isLittleEndian: Bool, _ part: FilePart
    ) throws(ProductFailure) {
        let entries = positions.entries
        for entry in 0..<(entries.bytes.count / 12) {
            guard let type = entries.number(at: 12 * entry + 2, count: 2),
                let values = entries.number(at: 12 * entry + 4, count: 4),
                let width = ExifDirectories.size(ofType: type),
                let target = entries.number(at: 12 * entry + 8, count: 4)
            else { continue }
            let size = values * width
            let range = (start + target)..<(start + target + size)
            // A value of up to four bytes is in the entry itself. One that reaches over the end is none.
            if size > 4, size < 1 << 16, range.upperBound <= part.range.upperBound { try patches.append(.zeros(range)) }
        }
        if patches.count > Self.mostPatches { throw .refused("the file contains too many positions") }
        let one: [UInt8] = isLittleEndian ? [1, 0] : [0, 1]
        let four: [UInt8] = isLittleEndian ? [4, 0, 0, 0] : [0, 0, 0, 4]
        let version: [UInt8] = [0, 0] + one + four + [2, 3, 0, 0]
        try patches.append(.zeros((positions.place + 2)..<(positions.place + 2 + UInt64(entries.bytes.count))))
        try patches.append(.bytes(one + version + [0, 0, 0, 0], at: positions.place))
    }

    // MARK: XMP and dash cams

    /// Overwrites a property of XMP, an attribute (`exif:GPSLatitude="48,8.2N"`) or an element, by spaces, which XML
    /// allows there.
    private mutating func addProperty(
        at offset: UInt64, in part: FilePart, isPosition: Bool = false
    ) throws(ProductFailure) {
        names += 1
        if names > Self.mostNames { throw .refused("the file contains too many names of positions") }
        let before = min(64, offset - part.range.lowerBound)
        let after = min(1024, part.range.upperBound - offset)
        guard let bytes = try part.bytes(at: offset - before, count: Int(before + after)) else { return }
        let start = offset - before
        let name = XMPProperty.name(around: Int(before), in: bytes)
        let local = String(decoding: bytes[name], as: UTF8.self).lowercased()
        let isCoordinate = isPosition || local.contains("lat") || local.contains("lon")
        guard isPosition || local.contains("gps"), local != "gpsversionid" else { return }
        if XMPProperty.isEnd(name, in: bytes) { return }
        guard let range = XMPProperty.range(of: name, in: bytes) else {
            if isCoordinate { obstacle = obstacle ?? "the file contains a position that can't be removed" }
            return
        }
        try patches.append(.spaces((start + UInt64(range.lowerBound))..<(start + UInt64(range.upperBound))))
    }

    /// Overwrites a picture in base64 with EXIF or XMP of its own.
    private mutating func addEncodedPicture(at offset: UInt64, in part: FilePart) throws(ProductFailure) {
        let count = Int(min(Self.longestEncoded, part.range.upperBound - offset))
        guard let bytes = try part.bytes(at: offset, count: count) else { return }
        let (decoded, length) = Base64.decode(bytes)
        encodedBytes += length
        if encodedBytes > Self.mostEncoded { throw .refused("the file contains too much text that may be a picture") }
        // Shorter ones occur in coded data.
        guard length >= Self.shortestEncoded,
            Self.marksOfMetadata.contains(where: { !Self.find($0, in: decoded).isEmpty })
        else { return }
        try patches.append(.spaces(offset..<(offset + UInt64(length))))
    }

    /// Overwrites a sentence, up to the end of its line.
    private mutating func addSentence(at offset: UInt64, in part: FilePart) throws(ProductFailure) {
        let count = Int(min(120, part.range.upperBound - offset))
        guard let bytes = try part.bytes(at: offset, count: count) else { return }
        let length = bytes.prefix { $0 >= 0x20 && $0 < 0x7F }.count
        try patches.append(.spaces(offset..<(offset + UInt64(length))))
    }

    /// Overwrites the number of a coordinate behind a colon, an equals sign or a bracket; of XMP the whole property.
    ///
    /// - Parameter rest: What follows, as far as it is known.
    private mutating func addNumber(
        at offset: UInt64, before rest: ArraySlice<UInt8>, in part: FilePart
    ) throws(ProductFailure) {
        // Most such signs are in coded data.
        if let next = rest.first, !Self.beginnings.contains(next) { return }
        let before = min(80, offset - part.range.lowerBound)
        let start = offset - before
        let count = Int(before + min(160, part.range.upperBound - offset))
        guard let bytes = try part.bytes(at: start, count: count),
            let number = PositionText.namedNumber(around: Int(before), in: bytes)
        else { return }
        let property = XMPProperty.range(of: XMPProperty.name(around: Int(before), in: bytes), in: bytes)
        let range = property.map { $0.contains(number.lowerBound) ? $0 : number } ?? number
        try patches.append(.spaces((start + UInt64(range.lowerBound))..<(start + UInt64(range.upperBound))))
    }

    /// What follows such a sign.
    private static let beginnings = Set("+-.0123456789 [\"'\\\t\r\n".utf8)

    /// Overwrites a block of a dash cam: its size, `freeGPS `, and data.
    private mutating func addBlock(at offset: UInt64, in part: FilePart) throws(ProductFailure) {
        guard offset >= 4, let bytes = try part.bytes(at: offset - 4, count: 4),
            let size = ByteReader(bytes: bytes).number(at: 0, count: 4), size >= 12, size <= Self.longestBlock,
            offset - 4 + size <= part.range.upperBound
        else {
            obstacle = obstacle ?? "the file contains a damaged block of positions"
            return
        }
        try patches.append(.bytes(Array("free".utf8), at: offset))
        try patches.append(.zeros((offset + 4)..<(offset - 4 + size)))
    }
}

/// A property in a text of XMP (ISO 16684-1, 7.4).
enum XMPProperty {
    /// Returns the letters and digits around a place.
    static func name(around place: Int, in text: [UInt8]) -> Range<Int> {
        var start = place
        while start > 0, isNameByte(text[start - 1]) { start -= 1 }
        var end = place
        while end < text.count, isNameByte(text[end]) { end += 1 }
        return start..<end
    }

    /// Whether the name is in the end of an element, such as `</exif:GPSLatitude>`, which goes with its beginning.
    static func isEnd(_ name: Range<Int>, in text: [UInt8]) -> Bool {
        guard name.lowerBound > 2, text[name.lowerBound - 1] == UInt8(ascii: ":") else { return false }
        let start = self.name(around: name.lowerBound - 1, in: text).lowerBound
        return text[..<start].suffix(2).elementsEqual("</".utf8)
    }

    /// Returns the range of a property with this local name; nil if the text is no XMP.
    static func range(of name: Range<Int>, in text: [UInt8]) -> Range<Int>? {
        // The prefix of the namespace.
        guard name.lowerBound > 1, text[name.lowerBound - 1] == UInt8(ascii: ":") else { return nil }
        let start = self.name(around: name.lowerBound - 1, in: text).lowerBound
        let end = name.upperBound
        guard start > 0, start < name.lowerBound - 1 else { return nil }
        let qualified = Array(text[start..<end])
        switch text[start - 1] {
        case UInt8(ascii: "<"): return element(qualified, from: start - 1, in: text)
        case 0x20, 0x09, 0x0A, 0x0D: return attribute(from: start, after: end, in: text)
        default: return nil
        }
    }

    private static func attribute(from start: Int, after name: Int, in text: [UInt8]) -> Range<Int>? {
        guard name + 1 < text.count, text[name] == UInt8(ascii: "="),
            text[name + 1] == UInt8(ascii: "\"") || text[name + 1] == UInt8(ascii: "'"),
            let end = text[(name + 2)...].firstIndex(of: text[name + 1])
        else { return nil }
        return start..<(end + 1)
    }

    private static func element(_ name: [UInt8], from start: Int, in text: [UInt8]) -> Range<Int>? {
        let end = Array("</".utf8) + name + [UInt8(ascii: ">")]
        guard let hit = HiddenPositions.find(end, in: text).first(where: { $0 > start }) else { return nil }
        return start..<(hit + end.count)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        let letter = byte | 0x20
        return letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "z")
            || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_")
    }
}

/// Text in base64 (RFC 4648, section 4), with line breaks as XML writes them.
private enum Base64 {
    private static let breaks = ["&#xA;", "&#xa;", "&#xD;", "&#xd;", "&#10;", "&#13;"].map { Array($0.utf8) }

    /// Decodes the longest beginning that is base64.
    ///
    /// - Returns: the bytes, and the length of that beginning.
    static func decode(_ text: [UInt8]) -> (bytes: [UInt8], length: Int) {
        var bytes: [UInt8] = []
        var (bits, pending) = (UInt32(0), 0)
        var index = 0
        while index < text.count {
            if let value = value(of: text[index]) {
                bits = bits << 6 | value
                pending += 6
                if pending >= 8 {
                    pending -= 8
                    bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(pending)))
                }
                index += 1
            } else if [0x09, 0x0A, 0x0D, 0x20].contains(text[index]) {
                index += 1
            } else if let mark = breaks.first(where: { text[index...].starts(with: $0) }) {
                index += mark.count
            } else {
                break
            }
        }
        return (bytes, index)
    }

    private static func value(of byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte) - 71
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte) + 4
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

/// The chunks of a PNG file (PNG specification, third edition, 5 and 11).
enum PNGContainer {
    /// The picture; bits that matter; what is shown behind it; statistics of colours; the time of
    /// the last change; places to decode from, by Apple.
    private static let plain: Set = ["IHDR", "PLTE", "tRNS", "IDAT", "sBIT", "bKGD", "hIST", "tIME", "iDOT"]
    /// Texts about the file itself: who wrote it, and when.
    private static let derived: Set = ["Software", "date:create", "date:modify", "date:timestamp"]
    private static let mostChunks = 1_000_000
    private static let firstChunk: UInt64 = 8
    private static let longestMetadata: UInt64 = 1 << 20
    /// The gamma and the chromaticities of sRGB, in 1/100,000 (PNG specification, 11.3.2.5).
    private static let gammaOfSRGB = 45_455
    private static let primariesOfSRGB = [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000]

    /// Reads the metadata, except the colour profile.
    ///
    /// - Throws: ``ContainerFailure`` if a JPEG would hold less, or show other colours.
    static func metadata(of file: FileBytes) throws(ContainerFailure) -> PictureMetadata {
        var metadata = PictureMetadata()
        var space = ColourSpace()
        var next = firstChunk
        for _ in 0..<mostChunks {
            let chunk = try Chunk(at: next, in: file)
            next = chunk.end
            if plain.contains(chunk.name) { continue }
            if chunk.name == "IEND" {
                guard file.isEmpty(from: chunk.end), space.isUnderstood else { throw .holdsMore }
                return metadata
            }
            let content = Bytes(try chunk.content(longest: longestMetadata))
            switch chunk.name {
            case "sRGB", "iCCP": space.isNamed = true
            case "gAMA": space.gamma = try content.int(at: 0, count: 4)
            case "cHRM":
                for index in 0..<8 { space.primaries.append(try content.int(at: 4 * index, count: 4)) }
            case "cICP":
                guard CodedColour(Array(content.bytes))?.isSRGB == true else { throw .holdsMore }
                space.isNamed = true
            case "pHYs":
                // In pixels for a metre, or of an unknown unit: then they only tell the shape of a pixel.
                let sides = (try content.int(at: 0, count: 4), try content.int(at: 4, count: 4))
                if try content.number(at: 8, count: 1) == 1 {
                    metadata.setResolution(horizontal: sides.0, vertical: sides.1)
                } else if sides.0 != sides.1 {
                    throw .holdsMore
                }
            case "eXIf":
                guard metadata.exif == nil, let block = ExifBlock(Array(content.bytes)) else { throw .holdsMore }
                metadata.exif = block
            case "iTXt", "tEXt": try add(content.bytes, isInternational: chunk.name == "iTXt", to: &metadata)
            default: throw .holdsMore
            }
        }
        throw .holdsMore
    }

    /// Returns the colours that a cICP chunk tells; nil if there is none before the pixels.
    static func colour(of file: FileBytes) -> CodedColour? {
        var next = firstChunk
        for _ in 0..<mostChunks {
            guard let chunk = try? Chunk(at: next, in: file), chunk.name != "IDAT" else { return nil }
            if chunk.name == "cICP" { return (try? chunk.content(longest: 4)).flatMap(CodedColour.init) }
            next = chunk.end
        }
        return nil
    }

    /// What the file says about the meaning of its numbers.
    private struct ColourSpace {
        var isNamed = false
        var gamma: Int?
        var primaries: [Int] = []

        /// Whether libvips understands the same: a profile or sRGB by name counts before gamma and chromaticities.
        var isUnderstood: Bool {
            if isNamed { return true }
            let isNear = zip(primaries, primariesOfSRGB).allSatisfy { abs($0 - $1) <= 100 }
            return abs((gamma ?? gammaOfSRGB) - gammaOfSRGB) <= 500 && isNear
        }
    }

    /// Takes a text: XMP, or a derived one. A compressed text is not understood.
    private static func add(
        _ content: ArraySlice<UInt8>, isInternational: Bool, to metadata: inout PictureMetadata
    ) throws(ContainerFailure) {
        let keyword = content.prefix { $0 != 0 }
        if derived.contains(String(decoding: keyword, as: UTF8.self)) { return }
        // Keyword, no compression, no language, no translated keyword.
        let rest = content.dropFirst(keyword.count)
        guard isInternational, keyword.elementsEqual("XML:com.adobe.xmp".utf8), rest.starts(with: [0, 0, 0, 0, 0]),
            metadata.xmp == nil
        else { throw .holdsMore }
        metadata.xmp = XMPPacket(Array(rest.dropFirst(5)))
    }
}

/// A chunk of a PNG file.
private struct Chunk {
    let file: FileBytes
    let name: String
    /// Where the content is.
    let start: UInt64
    let length: UInt64
    /// Behind the checksum.
    var end: UInt64 { start + length + 4 }

    init(at offset: UInt64, in file: FileBytes) throws(ContainerFailure) {
        self.file = file
        start = offset + 8
        length = try file.number(at: offset, count: 4)
        name = String(decoding: try file.bytes(at: offset + 4, count: 4), as: UTF8.self)
    }

    func content(longest: UInt64) throws(ContainerFailure) -> [UInt8] {
        if length > longest { throw .holdsMore }
        return try file.bytes(at: start, count: Int(length))
    }
}

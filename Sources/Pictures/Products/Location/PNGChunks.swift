/// The chunks of a PNG picture (W3C PNG, section 11): those that nobody here can read are overwritten in place.
struct PNGChunks {
    /// The changes that remove the other chunks.
    private(set) var patches = Patches()
    /// Where the picture ends.
    private(set) var end: UInt64
    /// Where the blocks of EXIF are, from the header of the TIFF structure.
    private(set) var exif: [Range<UInt64>] = []
    /// How many texts hold EXIF in hexadecimal digits, which only exiftool reads.
    private(set) var encodedEXIF = 0

    private let part: FilePart
    private let cancellation: Cancellation
    private let isBare: Bool

    private static let chunks: Set = [
        "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP", "mDCV", "mDCv", "cLLI",
        "cLLi", "bKGD", "hIST", "pHYs", "sPLT", "tIME", "eXIf", "acTL", "fcTL", "fdAT",
    ]
    private static let texts: Set = ["tEXt", "zTXt", "iTXt"]
    /// The keywords of texts that people write (W3C PNG, 11.3.3.1), in any case.
    private static let keywords: Set = [
        "title", "author", "description", "copyright", "creation time", "software", "disclaimer", "warning", "source",
        "comment", "artist",
    ]
    /// The keywords of texts that exiftool reads in this case only.
    private static let profiles: Set = [
        "XML:com.adobe.xmp", "Raw profile type exif", "Raw profile type APP1", "Raw profile type xmp",
        "Raw profile type iptc", "Raw profile type icc", "Raw profile type icm", "Raw profile type 8bim",
    ]
    private static let profilesOfEXIF: Set = ["Raw profile type exif", "Raw profile type APP1"]
    /// A chunk that says nothing: private, and safe to copy.
    private static let emptyChunk = "voId"
    private static let early = ProductFailure.refused("the picture ends early")

    /// - Parameter isBare: Whether only chunks stay that are needed to show the picture, and EXIF.
    /// - Throws: ``ProductFailure``; `refused` if the picture can't be read to its end.
    init(in part: FilePart, isBare: Bool, _ cancellation: Cancellation) throws(ProductFailure) {
        (self.part, self.isBare, self.cancellation) = (part, isBare, cancellation)
        end = part.range.lowerBound + 8
        while true {
            try cancellation.check()
            guard let size = try part.number(at: end, count: 4) else { throw Self.early }
            let type = try text(at: end + 4, count: 4)
            let content = (end + 8)..<(end + 8 + size)
            end = content.upperBound + 4
            guard end <= part.range.upperBound else { throw Self.early }
            try search(type, content)
            if type == "IEND" { return }
        }
    }

    private func text(at offset: UInt64, count: Int) throws(ProductFailure) -> String {
        let bytes = try part.bytes(at: offset, count: count) ?? []
        return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    private mutating func search(_ type: String, _ content: Range<UInt64>) throws(ProductFailure) {
        var isAllowed = Self.chunks.contains(type) && !(isBare && ["tIME", "sPLT"].contains(type))
        if !isBare, Self.texts.contains(type) {
            let start = try text(at: content.lowerBound, count: min(80, content.count))
            let keyword = String(start.prefix { $0 != "\0" })
            isAllowed = Self.keywords.contains(keyword.lowercased()) || Self.profiles.contains(keyword)
            if Self.profilesOfEXIF.contains(keyword) { encodedEXIF += 1 }
        }
        if type == "eXIf" { exif.append(try part.structureOfEXIF(in: content)) }
        if isAllowed { return }
        if type.unicodeScalars.first?.properties.isUppercase != false {
            throw .refused("the picture has a chunk of an unknown kind")
        }
        try empty(content)
    }

    private mutating func empty(_ content: Range<UInt64>) throws(ProductFailure) {
        if content.count < 1 << 26, try part.clearing(content, cancellation).isEmpty,
            try text(at: content.lowerBound - 4, count: 4) == Self.emptyChunk
        {
            return
        }
        var checksum = CRC32()
        checksum.add(Self.emptyChunk.utf8)
        checksum.add(repeatElement(0, count: content.count))
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: checksum.value >> (24 - 8 * $0)) }
        try patches += [
            .bytes(Array(Self.emptyChunk.utf8), at: content.lowerBound - 4), .zeros(content),
            .bytes(bytes, at: content.upperBound),
        ]
    }
}

extension FilePart {
    /// Returns where the TIFF structure of a block of EXIF is, behind the signature of JPEG, which some programs write
    /// everywhere.
    func structureOfEXIF(in block: Range<UInt64>) throws(ProductFailure) -> Range<UInt64> {
        let signature = Array("Exif\0\0".utf8)
        let start = try bytes(at: block.lowerBound, count: min(signature.count, block.count)) ?? []
        return start == signature ? (block.lowerBound + UInt64(signature.count))..<block.upperBound : block
    }
}

/// The checksum of PNG (W3C PNG, annex D).
private struct CRC32 {
    private var state: UInt32 = 0xFFFF_FFFF
    var value: UInt32 { ~state }

    mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            state ^= UInt32(byte)
            for _ in 0..<8 { state = state & 1 == 1 ? state >> 1 ^ 0xEDB8_8320 : state >> 1 }
        }
    }
}

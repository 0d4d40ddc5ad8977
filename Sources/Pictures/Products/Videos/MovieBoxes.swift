/// The boxes of an MP4 or QuickTime file (ISO 14496-12, 4.2), as far as they decide whether and how it is converted.
///
/// ffmpeg drops boxes that it does not know, without a word.
struct MovieBoxes {
    /// Whether the index (`moov`) comes before the pictures (`mdat`), so that the video plays while it arrives. True also
    /// for a file that can't be read.
    private(set) var hasIndexInFront = true
    /// What the video holds that no conversion keeps; nil if nothing was found.
    private(set) var obstacle: String?

    private static let mostBoxes = 100_000
    private static let longestDescription = 1 << 20
    private static let topLevel: Set = [
        "ftyp", "styp", "moov", "mdat", "moof", "mfra", "sidx", "ssix", "prft", "emsg", "pdin", "pnot", "PICT", "free",
        "skip", "wide",
        "meta", "udta",
    ]
    /// Sony's profile of the video, and times of its recording.
    private static let harmlessUUIDs = ["PROF", "USMT"].map { Array($0.utf8) }
    /// What a sample description of pictures may hold: how to decode them, their colour, shape and rate.
    static let describing: Set = [
        "avcC", "hvcC", "vvcC", "av1C", "vpcC", "esds", "d263", "jpgC", "dvcC", "dvvC", "dvwC", "hvcE", "btrt", "colr",
        "pasp", "clap", "fiel", "gama", "chrm", "clli", "mdcv", "CoLL", "SmDm", "amve", "cclv", "ccst", "bitr", "strf",
        "glbl", "ACLR", "ARES", "ADHR", "APRG", "SMI ", "free", "wide",
    ]
    /// A sample description of pictures, before the boxes in it (8.5.2; QuickTime file format, video media).
    private static let headLength: UInt64 = 78

    /// Named metadata of QuickTime, phones and iTunes.
    private static let namedMetadata: Set = ["hdlr", "keys", "ilst", "uuid"]
    /// User data beside texts (`©`): those that ffmpeg reads, and the settings of Samsung's phones for their own player.
    private static let userData: Set = [
        "meta", "uuid", "loci", "name", "titl", "auth", "perf", "gnre", "dscp", "cprt", "yrrc", "albm", "kywd", "hinf",
        "hnti", "chpl", "WLOC", "LOOP", "SelO", "AllF", "date", "SDLN", "smrd", "smta", "mdln", "XMP_",
    ]
    private static let free: Set = ["free", "skip", "wide"]
    /// Bytes that no track owns, as muxers leave them.
    private static let mostLost: UInt64 = 4096

    /// Reads the boxes.
    ///
    /// - Throws: ``ProductFailure`` if the file can't be read.
    init(_ part: FilePart) throws(ProductFailure) {
        var hasPictures = false
        var seen: Set<String> = []
        for box in try children(of: part.range, in: part, isWhole: true) {
            switch box.type {
            case "moov", "ftyp":
                if !seen.insert(box.type).inserted { note("a second movie") }
                if box.type == "ftyp" { continue }
                hasIndexInFront = !hasPictures
                try read(movie: box, in: part)
            case "mdat": hasPictures = true
            case "uuid": try read(uuid: box, in: part)
            case "meta": try readUserData(of: "meta", in: box, part)
            case "udta": try readUserData(of: "udta", in: box, part)
            case let type where !Self.topLevel.contains(type): note("a box of the unknown kind \(Self.name(type))")
            default: break
            }
            try readFree(box, in: part)
        }
        if obstacle == nil { try requireOwners(in: part) }
    }

    /// Looks into free space, in which dash cams and editors leave data.
    private mutating func readFree(_ box: Box, in part: FilePart) throws(ProductFailure) {
        guard Self.free.contains(box.type) else { return }
        if try !part.clearing(box.content, Cancellation()).isEmpty { note("data in free space") }
    }

    /// Looks for data between the samples of tracks. Damaged tables are left to the decoder.
    private mutating func requireOwners(in part: FilePart) throws(ProductFailure) {
        do throws(ProductFailure) {
            if try BoxPositions.unownedBytes(in: part, Cancellation()) > Self.mostLost {
                note("data that belong to no track")
            }
        } catch {
            guard case .refused = error else { throw error }
        }
    }

    private mutating func note(_ what: String) { obstacle = obstacle ?? what }

    private static func name(_ type: String) -> String {
        String(type.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "?" })
    }

    private mutating func read(movie: Box, in part: FilePart) throws(ProductFailure) {
        for box in try readMetadata(in: movie, part) where box.type == "trak" { try read(track: box, in: part) }
    }

    /// Looks for metadata and boxes of an unknown kind in a box, and in its user data.
    ///
    /// - Returns: the boxes in it.
    private mutating func readMetadata(in box: Box, _ part: FilePart) throws(ProductFailure) -> [Box] {
        let boxes = try children(of: box.content, in: part)
        for inner in boxes {
            if let known = BoxPositions.known[box.type], !known.contains(inner.type), !Self.free.contains(inner.type) {
                note("a box of the unknown kind \(Self.name(inner.type))")
            }
            switch inner.type {
            case "udta", "meta": try readUserData(of: inner.type, in: inner, part)
            case "uuid": try read(uuid: inner, in: part)
            default: try readFree(inner, in: part)
            }
        }
        return boxes
    }

    /// Looks for metadata and boxes of an unknown kind in user data or named metadata.
    private mutating func readUserData(of type: String, in box: Box, _ part: FilePart) throws(ProductFailure) {
        var range = box.content
        // A full box has four bytes of version and flags, which QuickTime leaves out (ISO 14496-12, 8.11.1).
        if type == "meta", let start = try part.bytes(at: range.lowerBound, count: min(8, range.count)),
            !start.dropFirst(4).elementsEqual("hdlr".utf8)
        {
            range = min(range.lowerBound + 4, range.upperBound)..<range.upperBound
        }
        for inner in try children(of: range, in: part) {
            let isKnown =
                type == "meta"
                ? Self.namedMetadata.contains(inner.type)
                : Self.userData.contains(inner.type) || inner.type.hasPrefix("\u{A9}")
            switch inner.type {
            case "uuid": try read(uuid: inner, in: part)
            case "XMP_": note(Self.metadata)
            case "meta" where type == "udta": try readUserData(of: "meta", in: inner, part)
            case let type where Self.free.contains(type): try readFree(inner, in: part)
            case let type where !isKnown: note("a box of the unknown kind \(Self.name(type))")
            default: break
            }
        }
    }

    private static let metadata = "metadata that a conversion does not keep"

    private mutating func read(uuid box: Box, in part: FilePart) throws(ProductFailure) {
        let id = try part.bytes(at: box.content.lowerBound, count: 16) ?? []
        if !Self.harmlessUUIDs.contains(Array(id.prefix(4))) { note(Self.metadata) }
    }

    private mutating func read(track: Box, in part: FilePart) throws(ProductFailure) {
        var path = track
        for type in ["mdia", "minf", "stbl", "stsd"] {
            guard let inner = try readMetadata(in: path, part).first(where: { $0.type == type }) else { return }
            path = inner
        }
        guard path.content.count >= 8, path.content.count <= Self.longestDescription else { return }
        let entries = path.content.lowerBound + 8..<path.content.upperBound
        let isPicture = try handler(of: track, in: part) == "vide"
        for entry in try children(of: entries, in: part) {
            if isPicture {
                try read(description: entry, in: part)
            } else if let bytes = try part.bytes(at: entry.content.lowerBound, count: entry.content.count),
                !HiddenPositions.find(Array("SA3D".utf8), in: bytes).isEmpty
            {
                note("spatial sound")
            }
        }
    }

    /// The kind of a track (8.4.3).
    private mutating func handler(of track: Box, in part: FilePart) throws(ProductFailure) -> String? {
        guard let media = try children(of: track.content, in: part).first(where: { $0.type == "mdia" }),
            let box = try children(of: media.content, in: part).first(where: { $0.type == "hdlr" })
        else { return nil }
        return try part.bytes(at: box.content.lowerBound + 8, count: 4).map { String(decoding: $0, as: UTF8.self) }
    }

    private mutating func read(description: Box, in part: FilePart) throws(ProductFailure) {
        guard description.content.count >= Self.headLength else { return }
        let range = description.content.lowerBound + Self.headLength..<description.content.upperBound
        for box in try children(of: range, in: part) {
            switch box.type {
            case "sv3d": note("spherical pictures (360°)")
            case "st3d", "vexu", "lhvC", "eyes", "mvcC": note("stereoscopic pictures")
            case "hvcC":
                let bytes = try part.bytes(at: box.content.lowerBound, count: box.content.count) ?? []
                if Self.hasLayers(bytes) { note("pictures in several layers, such as transparency") }
            case let type where !Self.describing.contains(type): note("a box of the unknown kind \(Self.name(type))")
            default: break
            }
        }
    }

    /// Whether parameters of HEVC are for other layers than the first: transparency, or the other eye (ISO 14496-15, 8.3.3;
    /// ITU-T H.265, 7.3.1.2).
    static func hasLayers(_ configuration: [UInt8]) -> Bool {
        let reader = ByteReader(bytes: configuration)
        var offset = 23
        for _ in 0..<(reader.number(at: 22, count: 1) ?? 0) {
            let units = reader.number(at: offset + 1, count: 2) ?? 0
            offset += 3
            for _ in 0..<units {
                guard let length = reader.number(at: offset, count: 2),
                    let head = reader.number(at: offset + 2, count: 2)
                else { return false }
                if head >> 3 & 0x3F != 0 { return true }
                offset += 2 + Int(length)
            }
        }
        return false
    }

    /// Returns the boxes that a range consists of. QuickTime may end a range with four zeros.
    private mutating func children(
        of range: Range<UInt64>, in part: FilePart, isWhole: Bool = false
    ) throws(ProductFailure) -> [Box] {
        var boxes: [Box] = []
        var offset = range.lowerBound
        let inner = part.within(range)
        while offset < range.upperBound {
            guard let box = try Box(at: offset, in: inner), boxes.count < Self.mostBoxes else {
                if isWhole { note("data behind its end, or it ends early") }
                break
            }
            boxes.append(box)
            offset = box.range.upperBound
        }
        return boxes
    }
}

/// A track of an MP4 or QuickTime file.
struct BoxTrack {
    /// The kind of track, such as `vide` (ISO 14496-12, 8.4.3).
    private var handler = ""
    /// The format of the samples, such as `mebx`.
    private var format = ""
    /// The sample descriptions.
    private var description: [UInt8] = []
    /// Of the media: those of pictures and sound.
    private let headers: Set<String>
    private var tables: [String: [UInt8]] = [:]
    private let part: FilePart
    /// The box of the track.
    let box: Box
    /// The number of the track, by which fragments name it.
    private(set) var id: UInt64 = 0
    /// Where the sample descriptions are.
    private var place: UInt64 = 0
    /// The samples in fragments.
    var fragments: [Range<UInt64>] = []

    private static let longestTable = 64 << 20
    /// Each chunk takes 16 bytes of memory, several times. Descriptions are texts and settings.
    private static let longestTables = ["stco": 8 << 20, "co64": 8 << 20, "stsc": 8 << 20, "stsd": 1 << 20]
    private static let mostText: UInt64 = 64 << 20
    /// Kinds of tracks that hold no positions of their own: pictures, those of an animation, sound, time codes.
    private static let understood: Set = ["vide", "pict", "soun", "tmcd", "auxv"]
    private static let texts: Set = ["text", "sbtl", "subt", "subp", "clcp"]
    private static let textFormats: Set = ["text", "tx3g", "wvtt", "stpp", "c608", "c708", "mp4s"]
    /// Subtitles that are pictures or coded, so that digits in them mean nothing.
    private static let pictureFormats: Set = ["mp4s", "c608", "c708"]

    /// Sample formats of pictures and sound.
    static let codecs: Set = [
        "avc1", "avc2", "avc3", "avc4", "hvc1", "hev1", "dvh1", "dvhe", "vvc1", "av01", "vp08", "vp09", "mp4v", "s263",
        "H263", "h263", "jpeg", "mjpa", "mjpb", "apch", "apcn", "apcs", "apco", "ap4h", "ap4x", "AVdh", "raw ", "encv",
        "mp4a", "samr", "sawb", "alac", "ac-3", "ec-3", "Opus", "fLaC", ".mp3", "lpcm", "sowt", "twos", "in24", "in32",
        "fl32", "fl64", "ulaw", "alaw", "enca",
    ]

    /// Formats with a JPEG picture in each sample, in lower case.
    static let motionJPEG: Set = ["jpeg", "mjpa", "mjpg", "dmb1", "ljpg"]

    /// Reads what describes the track's samples.
    ///
    /// - Parameters:
    ///   - handlers: The handlers directly within `mdia`. `minf` may have one of its own, for the data.
    ///   - boxes: The boxes within `trak`, `mdia`, `minf` and `stbl`.
    init(_ box: Box, handlers: [Box], _ boxes: [Box], _ part: FilePart) throws(ProductFailure) {
        self.box = box
        self.part = part
        headers = Set(boxes.map(\.type)).intersection(["vmhd", "smhd"])
        if let box = handlers.first, box.content.count >= 12 {
            let bytes = try part.bytes(at: box.content.lowerBound, count: 12) ?? []
            handler = String(decoding: bytes.suffix(4), as: UTF8.self)
        }
        for box in boxes where ["tkhd", "stsd", "stco", "co64", "stsz", "stz2", "stsc"].contains(box.type) {
            guard box.content.count <= Self.longestTables[box.type] ?? Self.longestTable else {
                throw .refused("a table of the video is too large")
            }
            let bytes = try part.bytes(at: box.content.lowerBound, count: box.content.count) ?? []
            switch box.type {
            case "tkhd":
                let reader = ByteReader(bytes: bytes)
                id = reader.number(at: bytes.first == 1 ? 20 : 12, count: 4) ?? 0
            case "stsd":
                description = bytes
                place = box.content.lowerBound
                format = String(decoding: bytes.dropFirst(12).prefix(4), as: UTF8.self)
            default: tables[box.type] = bytes
            }
        }
    }

    /// The bytes that its tables take.
    var sizeOfTables: Int { tables.values.reduce(description.count) { $0 + $1.count } }

    /// Whether the track is picture or sound, so that it must stay, whatever its handler says.
    var isPictureOrSound: Bool {
        ["vide", "pict", "soun"].contains(handler) || !headers.isEmpty || Self.codecs.contains(format)
    }

    /// How the sample descriptions are laid out.
    var kind: SampleDescriptions.Kind {
        switch handler {
        case "vide", "pict", "auxv": .pictures
        case "soun": .sound
        default: headers.contains("smhd") ? .sound : isPictureOrSound ? .pictures : .others
        }
    }

    /// Whether the samples are encrypted (ISO 23001-7).
    var isEncrypted: Bool { ["encv", "enca", "enct", "encs"].contains(format) }

    /// Whether the sample descriptions contain a position.
    var describesPosition: Bool { PositionText.isFound(in: description) }

    /// Whether the track must go: it holds data that nobody here can read, such as the sensors of a camera (`gpmd`,
    /// `camm`, `rtmd`, `mett`), or subtitles with positions, as drones write them, or with data.
    func isPosition(_ cancellation: Cancellation) throws(ProductFailure) -> Bool {
        if Self.texts.contains(handler) {
            if !Self.textFormats.contains(format) { return true }
            return try hasTelemetry(cancellation)
        }
        return !Self.understood.contains(handler) && !isMetadataOfPhone
    }

    /// Phones write harmless tracks of the kind `mebx`, which name what they hold.
    private var isMetadataOfPhone: Bool {
        guard format == "mebx" else { return false }
        let names = HiddenPositions.find(Array("keyd".utf8), in: description).count
        let known = HiddenPositions.find(Array("keydmdtacom.apple.quicktime.".utf8), in: description).count
        let text = String(decoding: description, as: UTF8.self).lowercased()
        return names == known && !text.contains("location") && !text.contains("gps")
    }

    private func hasTelemetry(_ cancellation: Cancellation) throws(ProductFailure) -> Bool {
        if Self.pictureFormats.contains(format) { return false }
        var read: UInt64 = 0
        for range in try samples(cancellation) {
            try cancellation.check()
            read += UInt64(range.count)
            if range.count > PositionText.longestSubtitle || read > Self.mostText {
                throw .refused("the subtitles of the video are too long")
            }
            let samples = try part.bytes(at: range.lowerBound, count: range.count) ?? []
            if !SubtitleText.isFound(in: samples, format: format) || PositionText.isTelemetry(samples) { return true }
        }
        return false
    }

    /// The codec that the configuration tells: some programs name the format as they like.
    private var configuredCodec: SupplementalMessages.Codec? {
        guard ["vide", "pict"].contains(handler) else { return nil }
        return SupplementalMessages.Codec.allCases.first {
            !HiddenPositions.find(Array($0.configuration.utf8), in: description).isEmpty
        }
    }

    /// Returns the changes that remove messages from the pictures.
    func messages(isBare: Bool, _ cancellation: Cancellation) throws(ProductFailure) -> Patches {
        let name = format.lowercased()
        if name == "mp4v" || Self.motionJPEG.contains(name), let patches = try segments(cancellation) { return patches }
        if UserData.isPossible(in: name) { return try userData(isBare: isBare, cancellation) }
        if name == "av01" { return try openUnits(cancellation) }
        if format == "fLaC" { return try comments(isBare: isBare) }
        guard let codec = SupplementalMessages.Codec(format) ?? configuredCodec else { return [] }
        var patches = Patches()
        var search: SupplementalMessages?
        for box in boxes(codec.configuration) {
            let configuration = description[box].dropFirst(codec == .vvc ? 4 : 0)
            if codec == .hevc {
                try patches += SupplementalMessages.patches(
                    forConfiguration: place + UInt64(box.lowerBound), in: part, isBare: isBare)
            }
            search = search ?? SupplementalMessages(codec, configuration: configuration, isBare: isBare)
        }
        guard let search else { throw .refused("the video has no configuration of its pictures") }
        return try self.patches(of: search, cancellation, besides: patches)
    }

    /// Returns the contents of boxes in the sample descriptions.
    private func boxes(_ type: String) -> [Range<Int>] {
        HiddenPositions.find(Array(type.utf8), in: description).map { hit in
            let size = ByteReader(bytes: description).number(at: hit - 4, count: 4) ?? 0
            return (hit + 4)..<max(hit + 4, min(description.count, hit - 4 + Int(size)))
        }
    }

    private func patches(
        of search: some StreamSearch, _ cancellation: Cancellation, besides others: Patches = []
    ) throws(ProductFailure) -> Patches {
        var patches = others
        for range in try samples(cancellation) { try patches += search.patches(for: range, in: part, cancellation) }
        return patches
    }

    /// Returns the changes that remove data of users from the samples, and from their description.
    private func userData(isBare: Bool, _ cancellation: Cancellation) throws(ProductFailure) -> Patches {
        let search = UserData(isBare: isBare)
        var patches = Patches()
        for box in boxes("esds") {
            guard let range = UserData.description(in: description, from: box.lowerBound) else { continue }
            let places = (place + UInt64(range.lowerBound))..<(place + UInt64(range.upperBound))
            try patches += search.patches(for: places, in: part, cancellation)
        }
        return try self.patches(of: search, cancellation, besides: patches)
    }

    private func openUnits(_ cancellation: Cancellation) throws(ProductFailure) -> Patches {
        let search = OpenUnits(endsWithRange: false)
        var patches = Patches()
        for box in boxes(OpenUnits.configuration) where box.count > OpenUnits.headerOfConfiguration {
            let start = place + UInt64(box.lowerBound) + OpenUnits.headerOfConfiguration
            try patches += search.patches(for: start..<(place + UInt64(box.upperBound)), in: part, cancellation)
        }
        return try self.patches(of: search, cancellation, besides: patches)
    }

    /// Returns the changes that remove comments from the configuration of FLAC, behind version and flags.
    private func comments(isBare: Bool) throws(ProductFailure) -> Patches {
        var comments = SoundComments(description, at: place) { _, text in !isBare && !PositionText.isFound(in: text) }
        for hit in HiddenPositions.find(Array("dfLa".utf8), in: description) {
            try comments.searchFLAC(from: hit + 8)
        }
        return comments.patches
    }

    /// Returns the changes that remove segments from frames of JPEG; nil if the frames are of MPEG-4.
    private func segments(_ cancellation: Cancellation) throws(ProductFailure) -> Patches? {
        var patches = Patches()
        for range in try samples(cancellation) {
            let frames = part.within(range)
            guard try JPEGSegments.isFound(in: frames) else {
                // ffmpeg writes JPEG under the name of MPEG-4.
                if format == "mp4v" { return nil }
                throw .refused("the pictures of the video can't be searched for positions")
            }
            var segments = JPEGSegments(in: frames, keeping: .none, cancellation)
            try segments.searchAll()
            try patches += segments.patches
        }
        return patches
    }

    /// Whether the sizes of samples are not in bytes, as in old sound of QuickTime. Only the places of chunks are known then.
    var hasOpenChunks: Bool {
        tables["stz2"] == nil && handler == "soun"
            && ByteReader(bytes: tables["stsz"] ?? []).number(at: 4, count: 4) == 1
    }

    /// Returns where the samples are, chunk by chunk (ISO 14496-12, 8.7).
    ///
    /// - Throws: ``ProductFailure``; `refused` if the tables are damaged.
    func samples(_ cancellation: Cancellation) throws(ProductFailure) -> [Range<UInt64>] {
        let offsets = chunkOffsets
        let runs = chunkRuns
        var sizes = SampleSizes(tables)
        var found: [Range<UInt64>] = []
        var run = 0
        var total: UInt64 = 0
        for (index, offset) in offsets.enumerated() {
            if index % 1000 == 0 { try cancellation.check() }
            while run + 1 < runs.count, runs[run + 1].firstChunk <= index + 1 { run += 1 }
            guard run < runs.count, let counted = sizes.take(runs[run].samples) else {
                throw .refused("the tables of a track of the video are damaged")
            }
            let size = hasOpenChunks ? min(1, counted) : counted
            guard size > 0 else { continue }
            guard let start = position(of: offset), size <= part.range.upperBound - start else {
                throw .refused("a track of the video reaches over the end of the file")
            }
            total += size
            if total > UInt64(part.range.count) { throw .refused("the chunks of a track of the video overlap") }
            found.append(start..<(start + size))
        }
        return found + fragments
    }

    /// Offsets count from the start of the video, which may begin within a picture.
    private func position(of offset: UInt64) -> UInt64? {
        guard offset <= UInt64(part.range.count) else { return nil }
        return part.range.lowerBound + offset
    }

    private var chunkOffsets: [UInt64] {
        let (bytes, width) = tables["co64"].map { ($0, 8) } ?? (tables["stco"] ?? [], 4)
        let reader = ByteReader(bytes: bytes)
        let count = min(Int(reader.number(at: 4, count: 4) ?? 0), max(0, bytes.count - 8) / width)
        return (0..<count).compactMap { reader.number(at: 8 + width * $0, count: width) }
    }

    private var chunkRuns: [(firstChunk: Int, samples: UInt64)] {
        let bytes = tables["stsc"] ?? []
        let reader = ByteReader(bytes: bytes)
        let count = min(Int(reader.number(at: 4, count: 4) ?? 0), max(0, bytes.count - 8) / 12)
        return (0..<count).compactMap { entry in
            guard let first = reader.number(at: 8 + 12 * entry, count: 4),
                let samples = reader.number(at: 12 + 12 * entry, count: 4)
            else { return nil }
            return (Int(first), samples)
        }
    }
}

/// The sizes of samples in order (ISO 14496-12, 8.7.3).
private struct SampleSizes {
    private let reader: ByteReader
    private let uniform: UInt64
    private let bits: Int
    private let count: UInt64
    private var next: UInt64 = 0

    init(_ tables: [String: [UInt8]]) {
        if let compact = tables["stz2"] {
            reader = ByteReader(bytes: compact)
            uniform = 0
            bits = Int(compact.dropFirst(7).first ?? 0)
        } else {
            reader = ByteReader(bytes: tables["stsz"] ?? [])
            uniform = reader.number(at: 4, count: 4) ?? 0
            bits = 32
        }
        count = reader.number(at: 8, count: 4) ?? 0
    }

    /// Returns the size of the following samples together; nil if the table is too short.
    mutating func take(_ samples: UInt64) -> UInt64? {
        guard samples <= count - next else { return nil }
        defer { next += samples }
        if uniform > 0 { return samples * uniform }
        var sum: UInt64 = 0
        for sample in next..<(next + samples) {
            guard let size = size(of: Int(sample)) else { return nil }
            sum += size
        }
        return sum
    }

    private func size(of sample: Int) -> UInt64? {
        switch bits {
        case 32, 16, 8: return reader.number(at: 12 + sample * bits / 8, count: bits / 8)
        case 4:
            guard let pair = reader.number(at: 12 + sample / 2, count: 1) else { return nil }
            return sample % 2 == 0 ? pair >> 4 : pair & 0xF
        default: return nil
        }
    }
}

/// The positions of a Matroska or WebM file, and the changes that remove them. Elements and tags that are not known to hold
/// none become void elements of the same size, so that no block moves.
struct MatroskaPositions {
    private(set) var patches = Patches()
    /// Why the positions can't be removed; nil if they can.
    private(set) var obstacle: String?

    private let part: FilePart
    private let cancellation: Cancellation
    private let changesAttachments: Bool
    /// Whether only elements stay that are needed to show the video.
    private let isBare: Bool
    private var elements = 0
    private var depth = 0
    private var blocks = 0
    /// Bytes of unknown elements that go.
    private var unknown: UInt64 = 0
    private var tracks: Set<UInt64> = []
    private var subtitleTracks: Set<UInt64> = []
    private var searches: [UInt64: any StreamSearch] = [:]
    /// Tracks with a JPEG picture in each block.
    private var motionJPEG: Set<UInt64> = []
    private var hasTransparency = false

    private static let mostElements = 50_000_000
    private static let mostTracks = 1000
    private static let deepest = 32
    private static let longestTag = PositionText.longestSubtitle

    /// Element IDs (RFC 9559, section 5.1).
    private enum ID {
        static let header: UInt64 = 0x1A45_DFA3
        static let segment: UInt64 = 0x1853_8067
        static let cluster: UInt64 = 0x1F43_B675
        static let block: UInt64 = 0xA1
        static let simpleBlock: UInt64 = 0xA3
        static let additions: UInt64 = 0x75A1
        static let tracks: UInt64 = 0x1654_AE6B
        static let trackEntry: UInt64 = 0xAE
        static let trackNumber: UInt64 = 0xD7
        static let trackType: UInt64 = 0x83
        static let codec: UInt64 = 0x86
        static let codecPrivate: UInt64 = 0x63A2
        static let encodings: UInt64 = 0x6D80
        static let video: UInt64 = 0xE0
        static let alphaMode: UInt64 = 0x53C0
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

    /// The elements that stay, by the element around them. Elements that are not named here are read as a whole.
    private static let known: [UInt64: Set<UInt64>] = [
        ID.header: [0x4286, 0x42F7, 0x42F2, 0x42F3, 0x4282, 0x4287, 0x4285],
        ID.segment: [
            0x114D_9B74, 0x1549_A966, ID.tracks, 0x1043_A770, ID.cluster, 0x1C53_BB6B, ID.attachments, ID.tags,
        ],
        // SeekHead, Seek, Info, Cues.
        0x114D_9B74: [0x4DBB], 0x4DBB: [0x53AB, 0x53AC],
        0x1549_A966: [
            0x73A4, 0x7384, 0x3C_B923, 0x3C_83AB, 0x3E_B923, 0x3E_83BB, 0x4444, 0x6924, 0x2A_D7B1, 0x4489, 0x4461,
            0x7BA9,
            0x4D80, 0x5741,
        ],
        0x1C53_BB6B: [0xBB],
        ID.tracks: [ID.trackEntry],
        ID.trackEntry: [
            0xD7, 0x73C5, 0x83, 0xB9, 0x88, 0x55AA, 0x55AB, 0x55AC, 0x55AD, 0x55AE, 0x55AF, 0x9C, 0x6DE7, 0x6DF8,
            0x23_E383, 0x23_4E7A, 0x23_314F, 0x537F, 0x55EE, 0x41E4, 0x536E, 0x22_B59C, 0x22_B59D, 0x86, 0x63A2,
            0x25_8688, 0x7446, 0xAA, 0x6FAB, 0x56AA, 0x56BB, 0x6624, 0xE0, 0xE1, 0xE2, 0x6D80,
        ],
        ID.video: [
            0x9A, 0x9D, 0x53B8, 0x53C0, 0xB0, 0xBA, 0x54AA, 0x54BB, 0x54CC, 0x54DD, 0x54B0, 0x54BA, 0x54B2, 0x54B3,
            0x2E_B524, 0x2F_B523, 0x23_83E3, 0x55B0, 0x7670,
        ],
        0xE1: [0xB5, 0x78B5, 0x9F, 0x7D7B, 0x6264, 0x52F1],
        ID.cluster: [0xE7, 0x5854, 0xA7, 0xAB, ID.simpleBlock, 0xA0],
        0xA0: [ID.block, ID.additions, 0x9B, 0xFA, 0xFB, 0xFD, 0x75A2, 0x8E],
        // Chapters, their editions, the chapters in these, their tracks, and their names.
        0x1043_A770: [0x45B9], 0x45B9: [0x45BC, 0x45BD, 0x45DB, 0x45DD, 0x4520, 0xB6],
        0xB6: [0x73C4, 0x5654, 0x91, 0x92, 0x98, 0x4598, 0x6E67, 0x6EBC, 0x4588, 0x63C3, 0x8F, 0x80, 0xB6],
        0x8F: [0x89], 0x80: [0x85, 0x437C, 0x437D, 0x437E],
        ID.attachments: [ID.attachedFile],
        ID.attachedFile: [0x467E, 0x466E, 0x4660, ID.fileData, 0x46AE],
        ID.tags: [ID.tag], ID.tag: [0x63C0, ID.simpleTag],
        ID.simpleTag: [ID.tagName, 0x447A, 0x447B, 0x4484, 0x44B4, ID.tagString, ID.simpleTag],
    ]

    /// Chapters, attachments, tags; names of files, of segments, of tracks and of codecs.
    private static let texts: Set<UInt64> = [
        0x1043_A770, ID.attachments, ID.tags, 0x7384, 0x3C_83AB, 0x3E_83BB, 0x7BA9, 0x536E, 0x25_8688,
    ]

    /// - Parameters:
    ///   - changesAttachments: Whether attached files are changed, so that their checksum must go.
    /// - Throws: ``ProductFailure`` if the file can't be read to its end, has too many elements, or the task was cancelled.
    init(
        in part: FilePart, changesAttachments: Bool, isBare: Bool = false, _ cancellation: Cancellation
    ) throws(ProductFailure) {
        self.isBare = isBare
        self.part = part
        self.changesAttachments = changesAttachments
        self.cancellation = cancellation
        var offset = part.range.lowerBound
        while let element = try next(at: offset, before: part.range.upperBound) {
            offset = element.range.upperBound
            if element.id == ID.header || element.id == ID.segment {
                offset = try searchChildren(of: element).end
            } else {
                try patches += element.removal(in: part, cancellation)
                if element.id != Element.void { unknown += UInt64(element.range.count) }
            }
        }
        try requireBlank(offset..<part.range.upperBound)
        // A damaged header makes all that it holds unknown.
        if blocks == 0 || unknown > UInt64(part.range.count) / 4 {
            throw .refused("most of the video is no part of a track: it is damaged")
        }
    }

    /// Some programs leave zeros behind the last element.
    private func requireBlank(_ range: Range<UInt64>) throws(ProductFailure) {
        if try !part.clearing(range, cancellation).isEmpty {
            throw .refused("the video has data between its elements, so it can't be read to the end")
        }
    }

    /// Searches the elements within one. A cluster of unknown size ends where an element of its own level begins.
    ///
    /// - Returns: Where it ends, and whether something in it changes, which makes its checksum wrong.
    private mutating func searchChildren(
        of element: Element
    ) throws(ProductFailure) -> (end: UInt64, isChanged: Bool) {
        depth += 1
        defer { depth -= 1 }
        if depth > Self.deepest { throw .refused("the video has elements within elements without end") }
        var offset = element.content.lowerBound
        var checksum: Element?
        var isChanged = element.id == ID.attachments && changesAttachments
        while let child = try next(at: offset, before: element.content.upperBound) {
            if element.hasUnknownSize, element.id == ID.cluster, Self.known[ID.segment]?.contains(child.id) == true {
                return (offset, isChanged)
            }
            if child.hasUnknownSize, child.id != ID.cluster { throw .refused("the video has an element without size") }
            offset = child.range.upperBound
            if child.id == ID.checksum {
                checksum = child
            } else if try search(child, within: element, &offset) {
                isChanged = true
            }
        }
        try requireBlank(offset..<element.content.upperBound)
        if isChanged, let checksum { try patches += checksum.removal(in: part, cancellation) }
        return (element.content.upperBound, isChanged)
    }

    /// Searches an element.
    ///
    /// - Returns: Whether it changes.
    private mutating func search(
        _ element: Element, within parent: Element, _ end: inout UInt64
    ) throws(ProductFailure) -> Bool {
        let before = patches.count
        let isKnown = Self.known[parent.id]?.contains(element.id) == true
        if !isKnown || element.id == ID.additions && !hasTransparency || isBare && Self.texts.contains(element.id) {
            try patches += element.removal(in: part, cancellation)
            if !isKnown, element.id != Element.void { unknown += UInt64(element.range.count) }
            return patches.count > before
        }
        switch element.id {
        case ID.block, ID.simpleBlock: try searchBlock(element)
        case ID.simpleTag where try isForeign(element):
            try patches += element.removal(in: part, cancellation)
            return true
        case ID.trackEntry: try searchTrack(element)
        case ID.fileData:
            let file = part.within(element.content)
            if let removal = try AttachedPicture.patches(for: file, cancellation) {
                try patches += removal
            } else {
                obstacle = "it has an attached file that may contain positions"
            }
        default: break
        }
        var isChanged = patches.count > before
        if Self.known[element.id] != nil {
            let inner = try searchChildren(of: element)
            end = inner.end
            isChanged = isChanged || inner.isChanged
        }
        return isChanged
    }

    /// Reads the header of an element; nil at the end.
    private mutating func next(at offset: UInt64, before end: UInt64) throws(ProductFailure) -> Element? {
        elements += 1
        if elements % 10_000 == 0 { try cancellation.check() }
        if elements > Self.mostElements { throw .refused("the video has too many elements") }
        return try Element(at: offset, in: part.within(part.range.lowerBound..<end))
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
        guard let element else { return [] }
        guard element.content.count <= Self.longestTag else {
            throw .refused("a text or setting of the video is too long to be searched")
        }
        return try part.bytes(at: element.content.lowerBound, count: element.content.count) ?? []
    }

    // MARK: Tags

    /// The official tags that are no places (matroska.org/technical/tagging.html), and those that programs derive from MP4.
    private static let tags: Set<String> = Set(
        """
        TITLE SUBTITLE ORIGINAL ARTIST LEAD_PERFORMER ACCOMPANIMENT COMPOSER ARRANGER LYRICS LYRICIST CONDUCTOR DIRECTOR \
        ASSISTANT_DIRECTOR DIRECTOR_OF_PHOTOGRAPHY SOUND_ENGINEER ACTOR CHARACTER WRITTEN_BY SCREENPLAY_BY EDITED_BY \
        PRODUCER PUBLISHER LABEL GENRE MOOD CONTENT_TYPE SUBJECT DESCRIPTION KEYWORDS SUMMARY SYNOPSIS PERIOD LAW_RATING \
        RATING DATE DATE_RELEASED DATE_RECORDED DATE_ENCODED DATE_TAGGED DATE_DIGITIZED DATE_WRITTEN DATE_PURCHASED \
        COMMENT PLAY_COUNTER ENCODER ENCODED_BY ENCODER_SETTINGS BPS FPS BPM MEASURE TUNING REPLAYGAIN_GAIN \
        REPLAYGAIN_PEAK ISRC COPYRIGHT LICENSE URL TOTAL_PARTS PART_NUMBER PART_OFFSET ALBUM ALBUM_ARTIST TRACK DURATION \
        LANGUAGE HANDLER_NAME VENDOR_ID MAJOR_BRAND MINOR_VERSION COMPATIBLE_BRANDS CREATION_TIME TIMECODE ROTATE \
        STEREO_MODE ALPHA_MODE NUMBER_OF_FRAMES NUMBER_OF_BYTES MAKE MODEL SOFTWARE MIMETYPE FILENAME SHOW NETWORK
        """.split { $0 == " " || $0 == "\n" }.map(String.init))

    /// Whether a tag is an official one, or one of phones, and no place.
    private static func isOfPerson(_ name: String) -> Bool {
        // The language may follow, as in `TITLE-ENG`.
        let base = String(name.prefix { $0 != "-" && $0 != "\0" })
        let isOfPhone =
            ["_STATISTICS_", "COM.APPLE.QUICKTIME.", "COM.ANDROID."].contains { name.hasPrefix($0) }
            && !["LOCATION", "GPS", "ISO6709"].contains { name.contains($0) }
        return isOfPhone || tags.contains(base)
    }

    private mutating func isForeign(_ tag: Element) throws(ProductFailure) -> Bool {
        let children = try children(of: tag)
        let name = String(decoding: try content(of: children.first { $0.id == ID.tagName }), as: UTF8.self).uppercased()
        if !Self.isOfPerson(name) { return true }
        return PositionText.isFound(in: try content(of: children.first { $0.id == ID.tagString }))
    }

    // MARK: Tracks

    private static let video: UInt64 = 1
    private static let audio: UInt64 = 2
    private static let logo: UInt64 = 16
    private static let subtitle: UInt64 = 17

    private mutating func searchTrack(_ entry: Element) throws(ProductFailure) {
        let children = try children(of: entry)
        let type = try number(in: children.first { $0.id == ID.trackType })
        let number = try number(in: children.first { $0.id == ID.trackNumber })
        let codec = String(decoding: try content(of: children.first { $0.id == ID.codec }), as: UTF8.self)
        tracks.insert(number)
        if tracks.count > Self.mostTracks { throw .refused("the video has too many tracks") }
        let isEncoded = children.contains { $0.id == ID.encodings }
        for settings in children where settings.id == ID.video {
            let mode = try self.children(of: settings).first { $0.id == ID.alphaMode }
            if try self.number(in: mode) == 1 { hasTransparency = true }
        }
        switch type {
        case Self.video, Self.audio, Self.logo:
            try searchConfiguration(
                codec, children.first { $0.id == ID.codecPrivate }, of: number, isEncoded: isEncoded)
        case _ where isBare: obstacle = "it has a track of another kind than pictures and sound"
        case Self.subtitle where isEncoded && !Self.hasPictures(codec):
            obstacle = "its subtitles are compressed or encrypted, so they can't be searched"
        case Self.subtitle where Self.hasPictures(codec): break
        case Self.subtitle where !codec.hasPrefix("D_WEBVTT/METADATA"): subtitleTracks.insert(number)
        default: obstacle = "it has a track of data, which may contain positions"
        }
    }

    private mutating func searchConfiguration(
        _ codec: String, _ element: Element?, of track: UInt64, isEncoded: Bool
    ) throws(ProductFailure) {
        let configuration = try content(of: element)
        if codec == "A_VORBIS" || codec == "A_FLAC", let element {
            let isBare = isBare
            var comments = SoundComments(configuration, at: element.content.lowerBound) { name, text in
                !isBare && Self.isOfPerson(name) && !PositionText.isFound(in: text)
            }
            if codec == "A_FLAC" { try comments.searchFLAC(from: 0) } else { try comments.searchVorbis() }
            try patches += comments.patches
            return
        }
        let foreign = Self.foreignCodec(codec, configuration)
        if codec == "V_MJPEG" || foreign.map({ BoxTrack.motionJPEG.contains($0) }) == true {
            if isEncoded { obstacle = Self.encoded }
            motionJPEG.insert(track)
            return
        }
        if let foreign, !Self.foreignCodecs.contains(foreign) { obstacle = Self.unsearchable }
        if UserData.isPossible(in: foreign ?? codec) {
            if isEncoded { obstacle = Self.encoded }
            searches[track] = UserData(isBare: isBare)
            if let element {
                try patches += UserData(isBare: isBare).patches(for: element.content, in: part, cancellation)
            }
            return
        }
        if codec == "V_AV1" {
            if isEncoded { obstacle = Self.encoded }
            let search = OpenUnits(endsWithRange: true)
            searches[track] = search
            if let element, element.content.count > OpenUnits.headerOfConfiguration {
                let units = (element.content.lowerBound + OpenUnits.headerOfConfiguration)..<element.content.upperBound
                try patches += search.patches(for: units, in: part, cancellation)
            }
            return
        }
        guard let kind = SupplementalMessages.Codec(codec) else { return }
        guard !isEncoded, let element,
            let search = SupplementalMessages(kind, configuration: configuration[...], isBare: isBare)
        else {
            return obstacle = Self.encoded
        }
        searches[track] = search
        if kind == .hevc {
            try patches += SupplementalMessages.patches(
                forConfiguration: element.content.lowerBound, in: part, isBare: isBare)
        }
    }

    /// The code of a codec that is named in the way of AVI (`BITMAPINFOHEADER`) or QuickTime (a sample description);
    /// nil for other codecs.
    private static func foreignCodec(_ codec: String, _ configuration: [UInt8]) -> String? {
        let place = codec.hasPrefix("V_MS") ? 16 : codec == "V_QUICKTIME" ? 4 : nil
        return place.map { String(decoding: configuration.dropFirst($0).prefix(4), as: UTF8.self).lowercased() }
    }

    /// Codecs whose pictures hold no messages. H.264 in the way of AVI has some, without sizes before its units.
    private static let foreignCodecs: Set = [
        "xvid", "divx", "dx50", "fmp4", "mp4v", "div3", "mp42", "mp43", "h263", "s263", "wmv1", "wmv2", "wmv3", "wvc1",
        "mpg1", "mpg2", "vp30", "vp31", "vp60", "vp61", "vp62", "vp80", "vp90", "av01", "ffv1", "ffvh", "hfyu", "ulrg",
        "ulra", "uly0", "uly2", "lags", "cvid", "svq1", "svq3", "iv31", "iv32", "iv41", "iv50", "msvc", "i420", "iyuv",
        "yv12", "yuy2", "uyvy", "raw ", "rle ", "apch", "apcn", "apcs", "apco", "ap4h", "ap4x",
    ]

    private static let unsearchable = "its pictures can't be searched for positions"
    private static let encoded = "its pictures are compressed a second time, so they can't be searched for positions"

    /// Whether subtitles are pictures, which DVDs and Blu-rays often have compressed.
    private static func hasPictures(_ codec: String) -> Bool {
        ["S_VOBSUB", "S_HDMV/PGS", "S_DVBSUB"].contains { codec.hasPrefix($0) }
    }

    private func number(in element: Element?) throws(ProductFailure) -> UInt64 {
        let bytes = try content(of: element)
        return ByteReader(bytes: bytes).number(at: 0, count: bytes.count) ?? 0
    }

    private mutating func searchFrame(_ frame: Range<UInt64>) throws(ProductFailure) {
        guard try JPEGSegments.isFound(in: part.within(frame)) else { throw .refused(Self.unsearchable) }
        var segments = JPEGSegments(in: part.within(frame), keeping: .none, cancellation)
        try segments.searchAll()
        try patches += segments.patches
    }

    /// Searches a block. Its track's number comes first, then a time and flags.
    private mutating func searchBlock(_ block: Element) throws(ProductFailure) {
        blocks += 1
        let start = try part.bytes(at: block.content.lowerBound, count: min(12, block.content.count)) ?? []
        guard let track = VariableNumber(start[...], keepsMarker: false) else {
            throw .refused("a block of the video is damaged")
        }
        // Tracks come first (RFC 9559, 25.3.3).
        guard tracks.contains(track.value) else { throw .refused("the video has a block before its track") }
        if searches[track.value] != nil || motionJPEG.contains(track.value) {
            guard let flags = start.dropFirst(track.length + 2).first, flags & 0x06 == 0 else {
                throw .refused("the pictures of the video can't be searched for messages with positions")
            }
            let samples = (block.content.lowerBound + UInt64(track.length) + 3)..<block.content.upperBound
            if let search = searches[track.value] {
                try patches += search.patches(for: samples, in: part, cancellation)
            } else {
                try searchFrame(samples)
            }
        } else if subtitleTracks.contains(track.value) {
            try cancellation.check()
            let text = Array(try content(of: block).dropFirst(track.length + 3))
            if !SubtitleText.isFound(in: text, format: nil) { obstacle = "its subtitles contain data" }
            if PositionText.isTelemetry(text) { obstacle = "its subtitles contain positions" }
        }
    }
}

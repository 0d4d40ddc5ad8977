import Foundation
import LinuxSystem
import MediaTestSupport
import TestSupport
import Testing

@testable import Products

/// Parts of formats that exiftool does not read.
@Suite struct LocationPartsTests {
    private let samples: SampleParts

    init() throws { samples = try SampleParts() }

    private func part(_ bytes: [UInt8]) throws -> FilePart { try samples.part(bytes) }

    private func bytes(of part: FilePart, after patches: Patches) throws -> [UInt8] {
        try patches.apply(to: part.file, Cancellation())
        return try #require(try part.bytes(at: 0, count: part.range.count))
    }

    private func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let size = UInt32(content.count + 8)
        return (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * UInt32($0))) } + Array(type.utf8) + content
    }

    /// EXIF as an item in `idat`, which exiftool can't read (construction method 1), beside a picture in `mdat`.
    @Test func itemsOfHEIFThatNobodyReadsAreCleared() throws {
        func entry(_ id: UInt8, _ type: String) -> [UInt8] {
            box("infe", [2, 0, 0, 0, 0, id, 0, 0] + Array(type.utf8) + [0])
        }
        let exif = Array("Exif\0\0secret".utf8)
        let start = box("ftyp", Array("heic\0\0\0\0mif1heic".utf8))
        func meta(_ picture: UInt8) -> [UInt8] {
            let items = box("iinf", [0, 0, 0, 0, 0, 2] + entry(1, "hvc1") + entry(2, "Exif"))
            let places = box(
                "iloc",
                [1, 0, 0, 0, 0x44, 0, 0, 2] + [0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, picture, 0, 0, 0, 3]
                    + [0, 2, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, UInt8(exif.count)])
            return box("meta", [0, 0, 0, 0] + items + places + box("idat", exif) + box("whom", Array("secret".utf8)))
        }
        let before = UInt8(start.count + meta(0).count + 8)
        let whole = start + meta(before + 6) + box("mdat", Array("secretabcsecret".utf8)) + Array("secret".utf8)
        let part = try part(whole)
        let patches = try PictureParts(in: part, type: "image/heic", videos: [], Cancellation()).patches
        let left = try bytes(of: part, after: patches)
        #expect(left.count == whole.count)
        #expect(HiddenPositions.find(Array("secret".utf8), in: left).isEmpty)
        #expect(!HiddenPositions.find(Array("abc".utf8), in: left).isEmpty)
        #expect(try PictureParts(in: part, type: "image/heic", videos: [], Cancellation()).patches.isEmpty)
    }

    /// A JPEG picture with a segment of a camera, a comment, and coded data.
    private static let frame: [UInt8] =
        [0xFF, 0xD8, 0xFF, 0xE6, 0, 8] + Array("secret".utf8) + [0xFF, 0xFE, 0, 8] + Array("secret".utf8)
        + [0xFF, 0xDA, 0, 2, 1, 2, 0xFF, 0, 3, 0xFF, 0xD9]

    @Test func framesOfJPEGKeepOnlyWhatShowsThem() throws {
        let part = try part(Self.frame + Array("secret".utf8) + Self.frame)
        var segments = JPEGSegments(in: part, keeping: .none, Cancellation())
        try segments.searchAll()
        let left = try bytes(of: part, after: segments.patches)
        #expect(left.count == part.range.count && HiddenPositions.find(Array("secret".utf8), in: left).isEmpty)
        #expect(
            left.suffix(9) == Self.frame.suffix(9) && HiddenPositions.find([1, 2, 0xFF, 0, 3], in: left).count == 2)
    }

    /// A Matroska file with one track of a codec named in the way of AVI or QuickTime, and one frame of JPEG.
    private func matroska(_ codec: String, _ fourCC: String) -> [UInt8] {
        func element(_ id: [UInt8], _ content: [UInt8]) -> [UInt8] {
            id + [0x40 | UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
        }
        let before = [UInt8](repeating: 0, count: codec.hasPrefix("V_MS") ? 16 : 4)
        let settings = before + Array(fourCC.utf8) + [UInt8](repeating: 0, count: 20)
        let entry = element([0xD7], [1]) + element([0x83], [1]) + element([0x86], Array(codec.utf8))
        let track = element([0xAE], entry + element([0x63, 0xA2], settings))
        let cluster = element([0xA3], [0x81, 0, 0, 0] + Self.frame)
        return element([0x1A, 0x45, 0xDF, 0xA3], element([0x42, 0x82], Array("matroska".utf8)))
            + element(
                [0x18, 0x53, 0x80, 0x67],
                element([0x16, 0x54, 0xAE, 0x6B], track) + element([0x1F, 0x43, 0xB6, 0x75], cluster))
    }

    @Test(arguments: [("V_MS/VFW/FOURCC", "MJPG"), ("V_QUICKTIME", "jpeg")])
    func framesOfJPEGUnderForeignNamesAreSearched(_ codec: String, _ fourCC: String) throws {
        let part = try part(matroska(codec, fourCC))
        let found = try MatroskaPositions(in: part, changesAttachments: false, Cancellation())
        #expect(found.obstacle == nil)
        #expect(HiddenPositions.find(Array("secret".utf8), in: try bytes(of: part, after: found.patches)).isEmpty)
    }

    @Test(arguments: [("H264", true), ("????", true), ("XVID", false)])
    func codecsOfMatroskaThatNobodyKnowsAreRefused(_ fourCC: String, _ isRefused: Bool) throws {
        let part = try part(matroska("V_MS/VFW/FOURCC", fourCC))
        let found = try MatroskaPositions(in: part, changesAttachments: false, Cancellation())
        #expect((found.obstacle != nil) == isRefused)
    }

    /// Commands of a chapter, and a comment of an attached GIF.
    @Test func commandsOfChaptersAndCommentsOfAttachedPicturesAreCleared() throws {
        func element(_ id: [UInt8], _ content: [UInt8]) -> [UInt8] {
            id + [0x40 | UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
        }
        let secret = Array("secret".utf8)
        let name = element([0x80], element([0x85], Array("Start".utf8)))
        let command = element([0x69, 0x44], element([0x45, 0x0D], secret))
        let chapter = element([0xB6], element([0x73, 0xC4], [1]) + name + command)
        let picture =
            Array("GIF89a".utf8) + [1, 0, 1, 0, 0, 0, 0] + [0x21, 0xFE, 6] + secret + [0]
            + [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 1, 7, 0, 0x3B]
        let attached = element([0x61, 0xA7], element([0x46, 0x6E], [65]) + element([0x46, 0x5C], picture))
        let further =
            element([0x10, 0x43, 0xA7, 0x70], element([0x45, 0xB9], chapter))
            + element([0x19, 0x41, 0xA4, 0x69], attached)
        var file = matroska("V_MS/VFW/FOURCC", "XVID")
        let place = try #require(file.firstRange(of: [0x18, 0x53, 0x80, 0x67])).upperBound
        let size = Int(file[place] & 0x3F) << 8 | Int(file[place + 1]) + further.count
        file.replaceSubrange(place..<(place + 2), with: [0x40 | UInt8(size >> 8), UInt8(size & 0xFF)])
        let part = try part(file + further)
        let found = try MatroskaPositions(in: part, changesAttachments: false, Cancellation())
        let left = try bytes(of: part, after: found.patches)
        #expect(found.obstacle == nil && !HiddenPositions.find(Array("Start".utf8), in: left).isEmpty)
        #expect(HiddenPositions.find([0x3B], in: left).isEmpty == false)
        let rest = HiddenPositions.find(secret, in: left)
        // The frame of the only track.
        #expect(rest.allSatisfy { $0 < file.count })
    }

    @Test func pictureOfJPEGWithinHEIFLosesSegments() throws {
        let entry = box("infe", [2, 0, 0, 0, 0, 1, 0, 0] + Array("jpeg".utf8) + [0])
        let start = box("ftyp", Array("heic\0\0\0\0mif1heic".utf8))
        func meta(_ picture: UInt8) -> [UInt8] {
            let places = [1, 0, 0, 0, 0x44, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, picture, 0, 0, 0]
            return box(
                "meta",
                [0, 0, 0, 0] + box("iinf", [0, 0, 0, 0, 0, 1] + entry)
                    + box("iloc", places + [UInt8(Self.frame.count)]))
        }
        let part = try part(start + meta(UInt8(start.count + meta(0).count + 8)) + box("mdat", Self.frame))
        let patches = try PictureParts(in: part, type: "image/heic", videos: [], Cancellation()).patches
        let left = try bytes(of: part, after: patches)
        #expect(HiddenPositions.find(Array("secret".utf8), in: left).isEmpty)
        #expect(left.suffix(9) == Self.frame.suffix(9))
    }

    /// A picture of one strip, with an old directory and a trailer that nothing leads to.
    @Test func partsOfTIFFThatNothingLeadsToAreCleared() throws {
        func entry(_ tag: UInt8, _ high: UInt8, _ value: UInt8) -> [UInt8] {
            [tag, high, 4, 0, 1, 0, 0, 0, value, 0, 0, 0]
        }
        let secret = Array("secret".utf8)
        let strip = [UInt8](repeating: 7, count: 40)
        let directory = [2, 0] + entry(17, 1, 14) + entry(23, 1, 40) + [0, 0, 0, 0]
        let whole = [0x49, 0x49, 42, 0, 60, 0, 0, 0] + secret + strip + secret + directory + secret
        let part = try part(whole)
        let left = try bytes(of: part, after: TIFFParts(in: part, Cancellation()).patches)
        #expect(HiddenPositions.find(secret, in: left).isEmpty)
        #expect(Array(left[14..<54]) == strip && Array(left[60..<90]) == directory)
    }

    @Test func tablesOfJPEGInTIFFLoseComments() throws {
        let tables = Self.frame.prefix(22) + [0xFF, 0xD9]
        let strip = [UInt8](repeating: 7, count: 4)
        func entry(_ tag: [UInt8], _ type: UInt8, _ count: UInt8, _ value: UInt8) -> [UInt8] {
            tag + [type, 0, count, 0, 0, 0, value, 0, 0, 0]
        }
        let start = UInt8(8 + tables.count)
        let directory =
            [3, 0] + entry([17, 1], 4, 1, start) + entry([23, 1], 4, 1, 4)
            + entry([91, 1], 7, UInt8(tables.count), 8) + [0, 0, 0, 0]
        let part = try part([0x49, 0x49, 42, 0, start + 4, 0, 0, 0] + tables + strip + directory)
        let left = try bytes(of: part, after: TIFFParts(in: part, Cancellation()).patches)
        #expect(HiddenPositions.find(Array("secret".utf8), in: left).isEmpty)
        #expect(left.count == part.range.count && left.suffix(directory.count + 4) == (strip + directory)[...])
    }

    /// exiftool runs out of memory.
    @Test func directoriesThatLeadToThemselvesAreRefused() throws {
        let count = 10_001
        let entry: [UInt8] = [74, 1, 4, 0, UInt8(count & 0xFF), UInt8(count >> 8), 0, 0, 26, 0, 0, 0]
        let places = (0..<count).flatMap { _ in [8, 0, 0, 0] as [UInt8] }
        let part = try part([0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0] + entry + [0, 0, 0, 0] + places)
        #expect(throws: ProductFailure.refused("the picture has too many directories")) {
            try TIFFParts(in: part, Cancellation())
        }
    }

    @Test func picturesInBase64LoseTheirEXIF() throws {
        let picture = Data([0xFF, 0xD8, 0xFF, 0xE1, 0, 14] + Array("Exif\0\0secret".utf8))
        let text = "<my:Data>\(picture.base64EncodedString())</my:Data>"
        let part = try part(Array(text.utf8))
        let found = try HiddenPositions(in: part, Cancellation())
        let left = String(decoding: try bytes(of: part, after: found.patches), as: UTF8.self)
        #expect(left.hasPrefix("<my:Data>   ") && left.hasSuffix("</my:Data>") && !left.contains("/9j/"))
    }

    @Test func commentsInSoundKeepOnlyNamesThatPeopleGive() throws {
        func little(_ number: Int) -> [UInt8] { [UInt8(number), 0, 0, 0] }
        let comments = ["TITLE=Sea", "GEO_LOCATION_LATITUDE=48.1370"].map { Array($0.utf8) }
        let block = little(1) + [0x78] + little(2) + comments.flatMap { little($0.count) + $0 }
        let flac = Array("fLaC".utf8) + [4, 0, 0, UInt8(block.count)] + block + [0x86, 0, 0, 3] + Array("pic".utf8)
        let part = try part(flac)
        var search = SoundComments(flac, at: 0) { name, _ in name == "TITLE" }
        try search.searchFLAC(from: 0)
        let left = try bytes(of: part, after: search.patches)
        let text = String(decoding: left, as: UTF8.self)
        #expect(left.count == flac.count && text.contains("TITLE=Sea") && !text.contains("48.1370"))
        // The picture has become padding.
        #expect(left.suffix(7).elementsEqual([0x81, 0, 0, 3, 0, 0, 0]))
    }

    @Test(arguments: [0, 1, 2, 3]) func pictureWithoutSizeIsRefused(size: UInt8) throws {
        let part = try part(
            Array("RIFF".utf8) + [size, 0, 0, 0] + Array("WEBPVP8 ".utf8) + [UInt8](repeating: 0, count: 14))
        #expect(throws: ProductFailure.self) {
            try PictureParts(in: part, type: "image/webp", videos: [], Cancellation())
        }
    }

    /// Each part that goes takes memory; these would take hundreds of MB.
    @Test(arguments: ["image/jpeg", "image/png", "image/webp"]) func tooManyForeignPartsAreRefused(_ type: String)
        throws
    {
        let (start, foreign, count): ([UInt8], [UInt8], Int) =
            switch type {
            case "image/jpeg": ([0xFF, 0xD8], [0xFF, 0xE6, 0, 3, 1], 500_001)
            case "image/png":
                ([0x89] + Array("PNG\r\n\u{1A}\n".utf8), [0, 0, 0, 0] + Array("maKr".utf8) + [0, 0, 0, 0], 170_000)
            default:
                (Array("RIFF".utf8) + [0x0C, 0x09, 0x3D, 0] + Array("WEBP".utf8), Array("MAKR\0\0\0\0".utf8), 500_001)
            }
        let part = try part(start + Array(repeatElement(foreign, count: count).joined()))
        #expect(throws: ProductFailure.refused("the file has too many parts that must go")) {
            try PictureParts(in: part, type: type, videos: [], Cancellation())
        }
    }

    @Test(
        arguments: [([0, 0x3B], true), ([0x3B], true), ([0, 0x21, 0xFE, 1, 7, 0, 0x3B], false)] as [([UInt8], Bool)])
    func zeroBeforeTheEndOfGIFIsAccepted(_ end: [UInt8], _ isAccepted: Bool) throws {
        let picture = Array("GIF89a".utf8) + [1, 0, 1, 0, 0, 0, 0] + [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 1, 7, 0]
        let part = try part(picture + end)
        let found = try? PictureParts(in: part, type: "image/gif", videos: [], Cancellation()).patches
        #expect(found?.isEmpty == (isAccepted ? true : nil))
    }

    @Test func framesWithinFramesAreRefused() throws {
        var chunk = Array("VP8 ".utf8) + [0, 0, 0, 0]
        for _ in 0..<3 {
            let content = [UInt8](repeating: 0, count: 16) + chunk
            chunk = Array("ANMF".utf8) + [UInt8(content.count), 0, 0, 0] + content
        }
        let part = try part(Array("RIFF".utf8) + [UInt8(chunk.count + 4), 0, 0, 0] + Array("WEBP".utf8) + chunk)
        #expect(throws: ProductFailure.refused("the picture has a frame within a frame")) {
            try PictureParts(in: part, type: "image/webp", videos: [], Cancellation())
        }
    }

    @Test func searchesEndAtTheirLimit() throws {
        let cancellation = Cancellation()
        #expect(throws: ProductFailure.tookTooLong("searching the file for positions took too long")) {
            try cancellation.limit(to: 0) { () throws(ProductFailure) in
                while true { try cancellation.check() }
            }
        }
        try cancellation.check()
    }

    /// A unit of H.264 with one message.
    private func unit(_ type: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [6, type, UInt8(payload.count)] + payload + [0x80]
    }

    private func sized(_ unit: [UInt8]) -> [UInt8] { [0, 0, UInt8(unit.count >> 8), UInt8(unit.count & 0xFF)] + unit }

    @Test func messagesOfMakersBecomeFillerOfTheSameSize() throws {
        let x264: [UInt8] = [
            0xDC, 0x45, 0xE9, 0xBD, 0xE6, 0xD9, 0x48, 0xB7, 0x96, 0x2C, 0xD8, 0x20, 0xD9, 0x23, 0xEE, 0xEF,
        ]
        let search = try #require(SupplementalMessages(.h264, configuration: [1, 0x64, 0, 10, 0xFF]))
        let known = sized(unit(5, x264 + Array("x264 - core".utf8))) + sized(unit(1, [4, 0])) + sized([0x65, 1, 2, 3])
        for size in 0..<250 {
            let foreign = sized(unit(5, [UInt8](repeating: 7, count: size)))
            let part = try part(known + foreign + known)
            let left = try bytes(of: part, after: search.patches(for: part.range, in: part, Cancellation()))
            #expect(left.prefix(known.count).elementsEqual(known) && left.suffix(known.count).elementsEqual(known))
            #expect(size < 3 || HiddenPositions.find([7, 7, 7], in: left).isEmpty)
            // A second search finds nothing to change.
            #expect(try search.patches(for: part.range, in: part, Cancellation()).isEmpty, "\(size)")
        }
    }

    @Test func samplesThatCannotBeReadToTheEndAreRefused() throws {
        let search = try #require(SupplementalMessages(.hevc, configuration: [UInt8](repeating: 3, count: 23)[...]))
        let part = try part([0, 0, 0, 200, 0x4E, 1, 5])
        #expect(throws: ProductFailure.self) { try search.patches(for: part.range, in: part, Cancellation()) }
    }

    @Test func keptRangesLeaveGaps() {
        let kept = KeptRanges([5..<10, 20..<30, 8..<12])
        #expect(kept.gaps(in: 0..<40) == [0..<5, 12..<20, 30..<40])
        #expect(kept.gaps(in: 6..<9) == [] && kept.gaps(in: 25..<35) == [30..<35])
        #expect(kept.overlaps(11..<13) && !kept.overlaps(12..<20) && !kept.overlaps(30..<31))
    }

    /// A directory of positions that a program unlinked, in the middle of other bytes.
    @Test func directoriesThatNothingLeadsToAreFound() throws {
        let entries: [UInt8] =
            [0, 1, 0, 2, 0, 0, 0, 2, 78, 0, 0, 0] + [0, 2, 0, 5, 0, 0, 0, 3, 0, 0, 0, 80]
            + [UInt8](repeating: 1, count: 50)
        let part = try part([UInt8](repeating: 9, count: 40) + entries)
        #expect(try HiddenPositions(in: part, Cancellation()).obstacle?.contains("nothing leads to") == true)
    }
}

/// Positions in the pictures of a video, as AVCHD camcorders write them.
@Suite(.enabled(if: LocationFiles.canBeMade, "needs exiftool and ffmpeg"), .serialized) struct LocationMessagesTests {
    private func video(_ name: String, _ options: String, _ files: LocationFiles) async throws {
        let message = "17ee8c60-f84d-11d9-8cd6-0800200c9a66+MDPM-48.1375-11.5755"
        try await files.media.make(
            "-f lavfi -i testsrc=size=96x64:rate=10 -t 1 -c:v libx264 -bsf:v h264_metadata=sei_user_data=\(message) "
                + "\(options) \(name)")
    }

    @Test(arguments: [
        ("messages.mkv", ""), ("messages.mp4", ""), ("messages.flv", ""), ("messages.ts", ""),
        ("fragments.mp4", "-movflags frag_keyframe+empty_moov"),
    ])
    func messagesAreRemovedAndPicturesStay(_ name: String, _ options: String) async throws {
        let files = try LocationFiles()
        try await video(name, options, files)
        #expect(LocationFiles.position(in: try files.bytes(name)) != nil)
        let stage = try RemoverStage()
        let product = try #require(try await StepRun(stage.remover, on: files.path(name)).product)
        #expect(LocationFiles.position(in: product) == nil)
        let path = try files.media.write(product, "product-" + name)
        #expect(try await files.frames(of: name) == files.frames(of: "product-" + name))
        #expect(try await StepRun(stage.remover, on: path).outcome == .unchanged)
    }
}

import PictureJobs
import Testing

@Suite(
    "Metadata of changed pixels", .serialized, .enabled(if: WorkerProcess.isBuiltWithLibvips, "built without libvips"))
struct FittingTests {
    private let worker: WorkerProcess

    init() throws { worker = try WorkerProcess() }

    private func compressed(_ picture: [UInt8], maximumSide: Int) throws -> [UInt8] {
        let result = try worker.perform(.compress(quality: 95, maximumSide: maximumSide), on: picture)
        #expect(result.outcome.refusal == nil && !result.outcome.isFailed, "\(result.outcome)")
        return result.output
    }

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// A directory's entry with one number of 32 bits.
    private static func entry(_ tag: Int, _ value: UInt32) -> [UInt8] {
        [UInt8(tag >> 8), UInt8(tag & 0xFF), 0, 4, 0, 0, 0, 1] + Samples.bigEndian(value)
    }

    /// EXIF data of a picture of 48 by 32 with a place of its subject and a thumbnail.
    private static func exif(orientation: UInt8) -> [UInt8] {
        // At 8: four entries. At 62: four entries. At 116: the directory of the thumbnail.
        let first = [[1, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0], entry(0x8769, 62)]
        let sizes = [entry(0x0100, 48), entry(0x0101, 32)]
        let inner = [entry(0x9214, 1), entry(0xA002, 48), entry(0xA003, 32), entry(0xA214, 2)]
        return text("MM\0*\0\0\0\u{8}\0\u{4}") + (sizes + first).joined() + Samples.bigEndian(116)
            + [0, 4] + inner.joined() + Samples.bigEndian(0) + [0, 1] + entry(0x0201, 134) + Samples.bigEndian(0)
    }

    @Test("scaled pixels: sizes follow, the place of the subject goes, the thumbnail stays")
    func scaled() throws {
        let segment = Samples.segment(0xE1, Self.text("Exif\0\0") + Self.exif(orientation: 6))
        let made = try compressed(try Samples.jpeg("baseline.jpg", with: segment), maximumSide: 24)
        for (tag, value) in [(0x0100, 24), (0x0101, 16), (0xA002, 24), (0xA003, 16)] as [(Int, UInt32)] {
            #expect(made.firstRange(of: Self.entry(tag, value)) != nil, "\(tag)")
        }
        #expect(made.firstRange(of: Self.entry(0x9214, 1)) == nil && made.firstRange(of: Self.entry(0xA214, 2)) == nil)
        let inner: [UInt8] = [0, 2] + Self.entry(0xA002, 24) + Self.entry(0xA003, 16) + [0, 0, 0, 0]
        #expect(made.firstRange(of: inner) != nil)
        #expect(made.firstRange(of: Samples.bigEndian(116) + [0, 2]) != nil)
    }

    @Test("turned pixels: sizes follow, the thumbnail goes")
    func turned() throws {
        let picture = try Samples.bytes("rgb8.png")
        let made = try compressed(
            picture[..<33] + Samples.chunk("eXIf", Self.exif(orientation: 6)) + picture[33...], maximumSide: 0)
        #expect(try worker.perform(.measure, on: made).outcome == .done(PictureFacts(width: 32, height: 48)))
        for (tag, value) in [(0x0100, 32), (0x0101, 48), (0xA002, 32), (0xA003, 48)] as [(Int, UInt32)] {
            #expect(made.firstRange(of: Self.entry(tag, value)) != nil, "\(tag)")
        }
        // Upright, and no further directory.
        #expect(
            made.firstRange(of: [1, 0x12, 0, 3, 0, 0, 0, 1, 0, 1, 0, 0] + Self.entry(0x8769, 62) + [0, 0, 0, 0]) != nil)
    }

    private func scaled(_ xmp: String) throws -> String {
        let segment = Samples.segment(0xE1, Self.text("http://ns.adobe.com/xap/1.0/\0\(xmp)"))
        let made = try compressed(try Samples.jpeg("baseline.jpg", with: segment), maximumSide: 24)
        return String(decoding: made.prefix(500), as: Unicode.ASCII.self)
    }

    @Test(
        "numbers of XMP that count pixels follow scaled pixels, however they are written",
        arguments: [
            ("GPano:FullPanoWidthPixels=\"48\"", "GPano:FullPanoWidthPixels=\"24\""),
            ("GPano:CroppedAreaTopPixels = '9'", "GPano:CroppedAreaTopPixels = '5'"),
            ("<tiff:ImageLength>3200</tiff:ImageLength>", "<tiff:ImageLength>1600</tiff:ImageLength>"),
            ("stDim:w='100' stDim:h='20'", "stDim:w='50' stDim:h='10'"),
            ("exif:PixelXDimension=\"99999999999999999999\"", "exif:PixelXDimension=\"99999999999999999999\""),
            ("stDim:w", "stDim:w"), ("tiff:ImageWidth=", "tiff:ImageWidth="),
        ])
    func numbers(before: String, after: String) throws {
        #expect(try scaled("<x \(before)").contains("<x \(after)"))
    }

    @Test("a picture whose XMP names places in pixels is not scaled")
    func places() throws {
        #expect(try scaled("stArea:unit='pixel'").isEmpty)
        #expect(try scaled("<exif:SubjectArea>").isEmpty)
        #expect(try !scaled("stArea:unit='normalized'").isEmpty)
    }

    @Test("a picture whose XMP names places is not turned")
    func regions() throws {
        let picture = try Samples.bytes("rgb8.png")
        let xmp = Samples.chunk(
            "iTXt",
            Self.text("XML:com.adobe.xmp\0\0\0\0\0xmlns:r='http://www.metadataworkinggroup.com/schemas/regions/'"))
        for orientation in [1, 3] as [UInt8] {
            let exif = Samples.chunk("eXIf", Self.exif(orientation: orientation))
            let made = try compressed(picture[..<33] + exif + xmp + picture[33...], maximumSide: 0)
            #expect(made.isEmpty == (orientation == 3))
        }
    }

    /// The brightness of each row of a picture of high dynamic range.
    private func shown(_ codes: [UInt16], transfer: UInt8, _ operation: PictureJob.Operation) throws -> [Int] {
        let picture = Samples.png(codes: codes, chunks: Samples.chunk("cICP", [9, transfer, 0, 1]))
        let drawn = try Decoded(try worker.perform(operation, on: picture).output)
        return codes.indices.map { Int(drawn[4, $0].green) }
    }

    @Test(
        "thumbnails, portraits and styles of high dynamic range are neither grey nor dark",
        arguments: [.thumbnail(side: 8, quality: 95), .encode(quality: 95), .draw(steps: ["original"])]
            as [PictureJob.Operation])
    func highDynamicRange(operation: PictureJob.Operation) throws {
        // PQ: 0, 24, 203 and 1000 candela a square metre; HLG: 0, 15, 203 and 1000.
        for (transfer, codes) in [(16, [0, 0.3733, 0.5807, 0.7518]), (18, [0, 0.3, 0.75, 1])] as [(UInt8, [Double])] {
            let rows = codes.flatMap { [UInt16](repeating: UInt16($0 * 65_535), count: 2) }
            let shown = try shown(rows, transfer: transfer, operation)
            let expected = transfer == 16 ? [0, 97, 238, 255] : [0, 77, 238, 255]
            for (row, value) in expected.enumerated() {
                #expect(abs(shown[2 * row] - value) <= 4, "\(transfer): \(shown)")
            }
        }
    }
}

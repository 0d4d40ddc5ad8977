import PictureJobs
import Testing

@Suite("Compressed pictures", .serialized, .enabled(if: WorkerProcess.isBuiltWithLibvips, "built without libvips"))
struct CompressTests {
    private let worker: WorkerProcess

    init() throws { worker = try WorkerProcess() }

    private func compressed(_ picture: [UInt8], quality: Int = 95, maximumSide: Int = 0) throws -> [UInt8] {
        let result = try worker.perform(.compress(quality: quality, maximumSide: maximumSide), on: picture)
        #expect(result.outcome.refusal == nil && !result.outcome.isFailed, "\(result.outcome)")
        return result.output
    }

    /// The picture as a viewer shows it: upright, in sRGB.
    private func shown(_ picture: [UInt8]) throws -> Decoded {
        try Decoded(try worker.perform(.encode(quality: 95), on: picture).output)
    }

    @Test(
        "look like the original",
        arguments: [
            "baseline.jpg", "progressive.jpg", "p3.jpg", "rgb8.png", "rgb16.png", "palette.png", "interlaced.png",
            "turned.png", "heic.heic", "little16.tif", "big16.tif", "tiled.tif", "bigtiff.tif",
        ])
    func formats(name: String) throws {
        let picture = try Samples.bytes(name)
        let (before, after) = (try shown(picture), try shown(try compressed(picture)))
        #expect((after.width, after.height) == (before.width, before.height))
        #expect(after.quadrants == before.quadrants)
    }

    @Test("look like the original in every orientation", arguments: [3, 5, 6, 8] as [UInt8])
    func orientation(orientation: UInt8) throws {
        let picture = try Samples.jpeg(orientation: orientation)
        let (before, after) = (try shown(picture), try shown(try compressed(picture)))
        #expect((after.width, after.height) == (before.width, before.height))
        #expect(after.quadrants == before.quadrants)
        let small = try shown(try compressed(picture, maximumSide: 24))
        #expect((small.width, small.height) == (before.width / 2, before.height / 2))
        #expect(small.quadrants == before.quadrants)
    }

    @Test("keep EXIF, XMP, IPTC and the colour profile")
    func metadata() throws {
        let picture = try Samples.jpeg(orientation: 6)
        let made = String(decoding: try compressed(picture), as: Unicode.ASCII.self)
        for text in ["Exif\0\0MM\0*", "2026:11:21", "a secret place", "Photoshop 3.0\08BIM", "ICC_PROFILE\0\u{1}\u{1}"]
        {
            #expect(made.contains(text), "\(text)")
        }
        // The pixels stay in Display P3.
        let red = try Decoded(try compressed(try Samples.bytes("p3.jpg")))[12, 8]
        #expect(abs(Int(red.red) - 234) < 12 && abs(Int(red.green) - 51) < 12)
    }

    @Test("of a PNG that is turned are upright, and say so")
    func turned() throws {
        let made = try compressed(try Samples.bytes("turned.png"))
        let plain = try Decoded(made)
        #expect((plain.width, plain.height) == (32, 48))
        #expect(made.contains([0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 1]))
    }

    @Test("of a TIFF file keep its camera, dates and place")
    func tiff() throws {
        let text = { (text: String) in Array("\(text)\0".utf8) }
        let picture = try Self.tiff(
            with: [
                (0x010F, 2, text("Acme Cameras")), (0x0112, 3, [6, 0]), (0x0132, 2, text("2024:05:06 07:08:09")),
                (0x8769, 4, []), (0x8825, 4, []),
            ],
            inner: [
                [(0x9003, 2, text("2024:05:06 07:08:08"))],
                [(0x0001, 2, [0x4E, 0]), (0x001D, 2, text("2024:05:06"))],
            ])
        let made = try compressed(picture)
        let exif = String(decoding: made.prefix(1000), as: Unicode.ASCII.self)
        for text in ["Exif\0\0II*", "Acme Cameras", "2024:05:06 07:08:09", "2024:05:06 07:08:08", "2024:05:06\0"] {
            #expect(exif.contains(text), "\(text)")
        }
        // Upright, and marked so.
        #expect(try worker.perform(.measure, on: made).outcome == .done(PictureFacts(width: 32, height: 48)))
        #expect(made.contains([0x12, 0x01, 3, 0, 1, 0, 0, 0, 1, 0]))
        #expect(try Decoded(made).quadrants == (try shown(picture)).quadrants)
    }

    @Test("are not made of a TIFF file with several pictures")
    func pages() throws {
        #expect(try compressed(try Self.tiff(with: [], inner: [], isDoubled: true)).isEmpty)
        #expect(try !compressed(try Self.tiff(with: [], inner: [])).isEmpty)
    }

    @Test(
        "are not made of a TIFF file with measured values, private tags or maker notes",
        arguments: [
            (339, 3, [3, 0]), (339, 3, [2, 0]), (258, 3, [12, 0]), (258, 3, [32, 0]), (277, 3, [1, 0]),
            (281, 3, [255, 15]), (301, 3, [0, 0]), (330, 3, [0, 0]), (33_550, 3, [0, 0]), (34_377, 7, [1, 2, 3, 4]),
            (42_112, 2, Array("<GDALMetadata/>\0".utf8)), (0x8769, 4, []),
        ] as [(Int, Int, [UInt8])])
    func measured(tag: Int, type: Int, value: [UInt8]) throws {
        let notes: [Tag] = [(0x927C, 7, Array("maker's notes".utf8))]
        let result = try worker.perform(
            .compress(quality: 95, maximumSide: 0), on: try Self.tiff(with: [(tag, type, value)], inner: [notes]))
        #expect(result.output.isEmpty)
    }

    @Test("are not made of a TIFF file with anything behind it")
    func behind() throws {
        let picture = try Self.tiff(with: [], inner: [])
        for count in [8, 1000, 100_000] {
            #expect(try compressed(picture + [UInt8](repeating: 1, count: count)).isEmpty)
        }
        #expect(try !compressed(picture).isEmpty)
    }

    private typealias Tag = (tag: Int, type: Int, value: [UInt8])

    /// A TIFF file with further tags; those of type 4 point to the inner directories.
    private static func tiff(with tags: [Tag], inner: [[Tag]], isDoubled: Bool = false) throws -> [UInt8] {
        var file = try Samples.bytes("little16.tif")
        func bytes(_ number: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(number >> (8 * $0) & 0xFF) } }
        func entry(_ tag: Tag) -> [UInt8] {
            let count = tag.type == 3 ? 1 : tag.value.count
            let head = bytes(tag.tag, 2) + bytes(tag.type, 2) + bytes(count, 4)
            if tag.value.count <= 4 { return head + tag.value + bytes(0, 4 - tag.value.count) }
            file += tag.value + [0]
            return head + bytes(file.count - tag.value.count - 1, 4)
        }
        func directory(_ entries: [[UInt8]], next: Int) -> Int {
            let sorted = entries.sorted { Int($0[0]) | Int($0[1]) << 8 < Int($1[0]) | Int($1[1]) << 8 }
            let start = file.count
            file += bytes(entries.count, 2) + sorted.joined() + bytes(next, 4)
            return start
        }
        let start = file[4..<8].reversed().reduce(0) { $0 << 8 | Int($1) }
        let replaced = Set(tags.map(\.tag))
        var entries = (0..<Int(file[start])).map { Array(file[start + 2 + 12 * $0..<start + 14 + 12 * $0]) }
        entries.removeAll { replaced.contains(Int($0[0]) | Int($0[1]) << 8) }
        var inner = inner[...]
        for tag in tags {
            if tag.type == 4, let tags = inner.popFirst() {
                let place = directory(tags.map(entry), next: 0)
                entries.append(bytes(tag.tag, 2) + bytes(4, 2) + bytes(1, 4) + bytes(place, 4))
            } else {
                entries.append(entry(tag))
            }
        }
        let first = directory(entries, next: isDoubled ? start : 0)
        file.replaceSubrange(4..<8, with: bytes(first, 4))
        return file
    }

    @Test("of a limited size say their size")
    func side() throws {
        let made = try compressed(try Samples.bytes("p3.jpg"), maximumSide: 24)
        #expect(try worker.perform(.measure, on: made).outcome == .done(PictureFacts(width: 24, height: 16)))
        #expect(made.contains([0x02, 0xA0, 4, 0, 1, 0, 0, 0, 24, 0, 0, 0]))
        #expect(made.contains([0x03, 0xA0, 4, 0, 1, 0, 0, 0, 16, 0, 0, 0]))
        let whole = try compressed(try Samples.bytes("p3.jpg"), maximumSide: 48)
        #expect(try worker.perform(.measure, on: whole).outcome == .done(PictureFacts(width: 48, height: 32)))
    }

    @Test("of CMYK have its colours in sRGB, and grey ones stay grey")
    func colours() throws {
        let cmyk = try compressed(try Samples.bytes("cmyk.jpg"))
        let decoded = try Decoded(cmyk)
        let (red, blue) = (decoded[12, 8], decoded[12, 24])
        #expect(red.red > 150 && red.green < 90 && red.blue < 90)
        #expect(blue.blue > 100 && blue.red < 100 && blue.green < 110)
        #expect(components(of: cmyk) == 3)
        #expect(components(of: try compressed(try Samples.bytes("grey.jpg"))) == 1)
    }

    /// The number of components of a baseline JPEG (ITU T.81, B.2.2).
    private func components(of jpeg: [UInt8]) -> UInt8? {
        jpeg.firstRange(of: [0xFF, 0xC0]).map { jpeg[$0.lowerBound + 9] }
    }

    @Test(
        "are not made of what a JPEG can't hold",
        arguments: ["alpha.png", "animated.gif", "animated.webp", "lossy.webp", "avif.avif"])
    func left(name: String) throws {
        #expect(try compressed(try Samples.bytes(name)).isEmpty)
    }

    @Test("are refused where the file ends early", arguments: ["baseline.jpg", "rgb8.png", "heic.heic", "tiled.tif"])
    func truncated(name: String) throws {
        let whole = try Samples.bytes(name)
        for length in stride(from: 16, to: whole.count * 9 / 10, by: max(1, whole.count / 8)) {
            let result = try worker.perform(.compress(quality: 85, maximumSide: 0), on: Array(whole.prefix(length)))
            #expect(result.outcome.refusal == .damaged, "\(length) bytes: \(result.outcome)")
            #expect(result.output.isEmpty)
        }
    }

    @Test("cost a job at most where EXIF data is garbled")
    func garbled() throws {
        let whole = try Samples.jpeg(orientation: 6)
        for offset in 12..<80 {
            var picture = whole
            picture[offset] = 0xFF
            let outcome = try worker.perform(.compress(quality: 85, maximumSide: 24), on: picture).outcome
            #expect(!outcome.isFailed, "byte \(offset): \(outcome)")
        }
    }
}

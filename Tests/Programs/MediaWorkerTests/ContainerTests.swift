import PictureJobs
import Testing

@Suite("What a JPEG would lose", .serialized, .enabled(if: WorkerProcess.isBuiltWithLibvips, "built without libvips"))
struct ContainerTests {
    private let worker: WorkerProcess

    init() throws { worker = try WorkerProcess() }

    private func compressed(_ picture: [UInt8], maximumSide: Int = 0) throws -> [UInt8] {
        let result = try worker.perform(.compress(quality: 95, maximumSide: maximumSide), on: picture)
        #expect(result.outcome.refusal == nil && !result.outcome.isFailed, "\(result.outcome)")
        return result.output
    }

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }
    private static let film = Samples.box("ftyp", text("isomiso2")) + Samples.box("mdat", [1, 2, 3])

    /// A JPEG with a segment behind its own.
    private func jpeg(_ marker: UInt8, _ content: [UInt8]) throws -> [UInt8] {
        let picture = try Samples.bytes("baseline.jpg")
        return picture[..<2] + Samples.segment(marker, content) + picture[2...]
    }

    @Test("leaves a JPEG with anything behind the picture as it is")
    func behind() throws {
        let cases =
            [
                Self.film, Self.text("sound"), [0xFF, 0xD8, 0xFF, 0xD9],
                Self.text("\0\0\u{1}\nMotionPhoto_DataSEFHSEFT"),
                [UInt8](repeating: 0, count: 70_000),
            ] as [[UInt8]]
        for bytes in cases {
            #expect(try compressed(try Samples.bytes("baseline.jpg") + bytes).isEmpty)
            #expect(try compressed(try Samples.bytes("progressive.jpg") + bytes).isEmpty)
        }
    }

    @Test("takes a JPEG with a padding of zeros")
    func padding() throws {
        #expect(try !compressed(try Samples.bytes("baseline.jpg") + [UInt8](repeating: 0, count: 100)).isEmpty)
    }

    @Test("leaves a JPEG with a segment of an unknown kind as it is")
    func segments() throws {
        let cases =
            [
                (0xE0, Self.text("JFXX\0\u{10}thumbnail")), (0xE1, Self.text("something else")),
                (0xE2, Self.text("MPF\0II*\0")),
                (0xE2, Self.text("urn:iso:std:iso:ts:21496:-1\0")), (0xE3, Self.text("_JPSJPS_")),
                (0xE4, Self.text("Qualcomm")),
                (0xEB, Self.text("JP\0\u{1}jumb")), (0xEC, Self.text("Ducky")), (0xEF, [0]),
            ] as [(UInt8, [UInt8])]
        for (marker, content) in cases {
            #expect(try compressed(try jpeg(marker, content)).isEmpty)
        }
    }

    @Test("leaves a JPEG with a second block of EXIF or XMP as it is")
    func doubled() throws {
        let picture = try Samples.jpeg(orientation: 1)
        let end = try #require(picture.firstRange(of: Self.text("Photoshop"))).lowerBound - 4
        #expect(try compressed(Array(picture[..<end]) + picture[2...]).isEmpty)
    }

    @Test("keeps long XMP, all resources of Photoshop, comments and the resolution of a JPEG, byte by byte")
    func kept() throws {
        let segments: [[UInt8]] = [
            Samples.segment(0xE0, Self.text("JFIF\0\u{1}\u{1}\u{1}\u{1}\u{2C}\u{1}\u{2C}\0\0")),
            Samples.segment(
                0xE1, Self.text("http://ns.adobe.com/xmp/extension/\0") + [UInt8](repeating: 65, count: 60_000)),
            Samples.segment(
                0xE1, Self.text("http://ns.adobe.com/xmp/extension/\0") + [UInt8](repeating: 66, count: 60_000)),
            Samples.segment(0xED, Self.text("Photoshop 3.0\08BIM first")),
            Samples.segment(0xED, Self.text("Photoshop 3.0\08BIM second")),
            Samples.segment(0xFE, Self.text("a comment")),
        ]
        let made = try compressed(try Samples.jpeg("progressive.jpg", with: Array(segments.joined())))
        for segment in segments { #expect(made.firstRange(of: segment) != nil, "\(segment.prefix(50))") }
        #expect(made.dropFirst(2).starts(with: segments[0]))
    }

    /// A PNG with a chunk in front of the pixels.
    private func png(_ name: String, _ content: [UInt8]) throws -> [UInt8] {
        let picture = try Samples.bytes("rgb8.png")
        return picture[..<33] + Samples.chunk(name, content) + picture[33...]
    }

    @Test("leaves a PNG with an unknown chunk, a text, or other colours than sRGB as it is")
    func chunks() throws {
        let cases =
            [
                ("gAMA", [0, 1, 0x86, 0xA0]), ("gAMA", [0, 0, 0xD6, 0xD8]), ("cICP", [9, 16, 0, 1]),
                ("cICP", [12, 13, 0, 1]),
                ("cHRM", [78, 32, 64, 33, 30, 60, 15, 6].flatMap { Samples.bigEndian($0 * 1000) }),
                ("tEXt", Self.text("Author\0me")), ("zTXt", Self.text("Raw profile type iptc\0\0")), ("caBX", [0]),
                ("mDCV", [0]),
                ("iTXt", Self.text("XML:com.adobe.xmp\0\u{1}\0\0\0compressed")), ("pHYs", [0, 0, 0, 2, 0, 0, 0, 1, 0]),
                ("abCd", [0]),
            ] as [(String, [UInt8])]
        for (name, content) in cases {
            #expect(try compressed(try png(name, content)).isEmpty)
        }
    }

    /// PQ, HLG, and BT.709.
    @Test("leaves a deep PNG as it is if its profile tells of high dynamic range", arguments: [16, 18, 1] as [UInt8])
    func profile(transfer: UInt8) throws {
        let colours = Self.text("cicp\0\0\0\0") + [9, transfer, 0, 1]
        let tags = Samples.bigEndian(1) + Self.text("cicp") + Samples.bigEndian(144) + Samples.bigEndian(12)
        var header = Samples.bigEndian(156) + [UInt8](repeating: 0, count: 124)
        header.replaceSubrange(8..<24, with: [4, 0x40, 0, 0] + Self.text("mntrRGB XYZ "))
        header.replaceSubrange(36..<40, with: Self.text("acsp"))
        header.replaceSubrange(68..<80, with: [0, 0, 0xF6, 0xD6, 0, 1, 0, 0, 0, 0, 0xD3, 0x2D])
        let profile = header + tags + colours
        // One block without compression (RFC 1950, RFC 1951 3.2.4), and the checksum.
        let (low, high) = profile.reduce((UInt32(1), UInt32(0))) { sum, byte in
            let low = (sum.0 + UInt32(byte)) % 65_521
            return (low, (sum.1 + low) % 65_521)
        }
        let count = UInt8(profile.count)
        let chunk = [0x78, 1, 1, count, 0, ~count, 0xFF] + profile + Samples.bigEndian(high << 16 | low)
        let picture = Samples.png(
            codes: Array(repeating: 30_000, count: 64), chunks: Samples.chunk("iCCP", Self.text("a\0\0") + chunk))
        #expect(try compressed(picture).isEmpty == (transfer != 1))
    }

    @Test("takes a PNG with the colours of sRGB, or texts about the file")
    func plain() throws {
        let cases =
            [
                ("gAMA", Samples.bigEndian(45_455)), ("sRGB", [0]), ("cICP", [1, 13, 0, 1]),
                ("tEXt", Self.text("Software\0a program")),
                ("tIME", [7, 0xE8, 1, 1, 1, 1, 1]), ("iTXt", Self.text("XML:com.adobe.xmp\0\0\0\0\0a secret place")),
                ("pHYs", Samples.bigEndian(11_811) + Samples.bigEndian(11_811) + [1]),
            ] as [(String, [UInt8])]
        for (name, content) in cases {
            let made = try compressed(try png(name, content))
            #expect(!made.isEmpty)
            if name == "iTXt" {
                #expect(made.firstRange(of: Self.text("http://ns.adobe.com/xap/1.0/\0a secret place")) != nil)
            }
            // 300 dots an inch.
            if name == "pHYs" {
                #expect(made.dropFirst(6).starts(with: Self.text("JFIF\0") + [1, 1, 1, 1, 0x2C, 1, 0x2C]))
            }
        }
    }

    @Test("leaves a PNG with anything behind it as it is")
    func behindPNG() throws {
        #expect(try compressed(try Samples.bytes("rgb8.png") + Self.film).isEmpty)
    }

    @Test("leaves a HEIC with an unknown box behind it as it is")
    func boxes() throws {
        let cases =
            [
                Samples.box("mpvd", Self.film), Samples.box("moov", []),
                Samples.box("uuid", [UInt8](repeating: 7, count: 16)),
                Samples.box("mdat", [UInt8](repeating: 1, count: 100_000)), Samples.box("sefd", [1]),
            ] as [[UInt8]]
        for box in cases {
            #expect(try compressed(try HEICSample().file(behind: box)).isEmpty)
        }
    }

    @Test("keeps the EXIF data and the XMP of a HEIC, whatever the packet begins with")
    func packet() throws {
        var sample = try HEICSample()
        let packet = Self.text("<?xpacket begin=''?><x:xmpmeta>a secret place</x:xmpmeta><?xpacket end='w'?>")
        sample.add(item: 4, "mime", more: Self.text("\0application/rdf+xml\0"), content: packet, "cdsc", to: 2)
        let made = try compressed(sample.file())
        #expect(made.firstRange(of: Self.text("http://ns.adobe.com/xap/1.0/\0") + packet) != nil)
        #expect(made.firstRange(of: Self.text("Exif\0\0")) != nil)
        #expect(try Decoded(made).quadrants == "red green blue yellow")
    }

    @Test("takes a HEIC with a thumbnail, and leaves one with other pictures, texts and data as it is")
    func items() throws {
        #expect(try !compressed(try Self.heic(4, "hvc1", "thmb", 2)).isEmpty)
        for (type, reference) in [
            ("hvc1", "auxl"), ("hvc1", "dimg"), ("tmap", "dimg"), ("uri ", "cdsc"), ("hvc1", "prem"), ("Exif", "cdsc"),
            ("mime", "cdsc"), ("av01", "thmb"),
        ] {
            // libheif may refuse it, too.
            let job = PictureJob.Operation.compress(quality: 95, maximumSide: 0)
            let picture = try Self.heic(4, type, reference, 2)
            #expect(try worker.perform(job, on: picture).output.isEmpty, "\(type) \(reference)")
        }
    }

    private static func heic(_ item: UInt8, _ type: String, _ reference: String, _ target: UInt8) throws -> [UInt8] {
        var sample = try HEICSample()
        sample.add(item: item, type, more: [0, 0], reference, to: target)
        return sample.file()
    }

    @Test("leaves a HEIC of high dynamic range, or with a property of an unknown kind, as it is")
    func properties() throws {
        let cases =
            [
                ("colr", Self.text("nclx") + [0, 9, 0, 16, 0, 9, 0x80]),
                ("colr", Self.text("nclx") + [0, 9, 0, 18, 0, 9, 0x80]),
                ("clli", [3, 0xE8, 0, 0xCB]), ("udes", Self.text("\0\0\0\0de\0title\0\0\0")),
            ] as [(String, [UInt8])]
        for (type, content) in cases {
            var sample = try HEICSample()
            sample.add(property: type, content)
            #expect(try compressed(sample.file()).isEmpty)
        }
    }
}

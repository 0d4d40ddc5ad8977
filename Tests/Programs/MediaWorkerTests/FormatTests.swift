import PictureJobs
import Testing

@Suite(
    "Accepted formats", .serialized, .enabled(if: WorkerProcess.isBuiltWithLibvips, "built without libvips"))
struct FormatTests {
    static let plain = "red green blue yellow"

    @Test(
        "come out whole, in their colours, with the first picture of several",
        arguments: [
            "baseline.jpg", "progressive.jpg", "p3.jpg", "rgb8.png", "rgb16.png", "palette.png", "interlaced.png",
            "animated.gif", "lossy.webp", "lossless.webp", "animated.webp", "heic.heic", "avif.avif", "little16.tif",
            "big16.tif", "tiled.tif", "bigtiff.tif",
        ])
    func table(name: String) throws {
        let worker = try WorkerProcess()
        let picture = try Samples.bytes(name)
        let facts = PictureFacts(width: 48, height: 32)

        #expect(try worker.perform(.measure, on: picture).outcome == .done(facts))
        let encoded = try worker.perform(.encode(quality: 95), on: picture)
        #expect(encoded.outcome == .done(facts))
        let whole = try Decoded(encoded.output)
        #expect((whole.width, whole.height) == (48, 32))
        #expect(whole.quadrants == Self.plain)
        let thumbnail = try Decoded(try worker.perform(.thumbnail(side: 24, quality: 95), on: picture).output)
        #expect((thumbnail.width, thumbnail.height) == (24, 24))
        #expect(thumbnail.quadrants == Self.plain)
        let drawn = try Decoded(try worker.perform(.draw(steps: ["original"]), on: picture).output)
        #expect((drawn.width, drawn.height) == (48, 32))
        #expect(drawn.quadrants == Self.plain)
    }

    @Test("grey pictures stay grey")
    func grey() throws {
        let worker = try WorkerProcess()
        let drawn = try Decoded(
            try worker.perform(.draw(steps: ["original"]), on: try Samples.bytes("grey.jpg")).output)
        for (x, y) in [(12, 8), (36, 8), (12, 24), (36, 24)] {
            let pixel = drawn[x, y]
            #expect(pixel.red == pixel.green && pixel.green == pixel.blue && pixel.alpha == 255)
        }
        #expect(drawn[36, 24].red > drawn[12, 8].red, "yellow is lighter than red")
    }

    @Test("CMYK without a profile keeps the named colours")
    func cmyk() throws {
        let worker = try WorkerProcess()
        let encoded = try Decoded(try worker.perform(.encode(quality: 95), on: try Samples.bytes("cmyk.jpg")).output)
        let (red, green, blue, yellow) = (encoded[12, 8], encoded[36, 8], encoded[12, 24], encoded[36, 24])
        #expect(red.red > 150 && red.green < 90 && red.blue < 90)
        #expect(green.green > 110 && green.red < 90 && green.blue < 120)
        #expect(blue.blue > 100 && blue.red < 100 && blue.green < 110)
        #expect(yellow.red > 200 && yellow.green > 200 && yellow.blue < 90)
    }

    @Test("transparency stays in a PNG and becomes white in a JPEG")
    func alpha() throws {
        let worker = try WorkerProcess()
        let picture = try Samples.bytes("alpha.png")
        let drawn = try Decoded(try worker.perform(.draw(steps: ["rect:24x16"]), on: picture).output)
        #expect(drawn.quadrants == "red clear blue clear")
        let thumbnail = try Decoded(try worker.perform(.thumbnail(side: 24, quality: 95), on: picture).output)
        #expect(thumbnail.quadrants == "red white blue white")
        let encoded = try Decoded(try worker.perform(.encode(quality: 95), on: picture).output)
        #expect(encoded.quadrants == "red white blue white")
    }

    @Test("a camera's raw file is not measured by its preview")
    func raw() throws {
        let outcome = try WorkerProcess().perform(.measure, on: try Samples.bytes("raw-preview.tif")).outcome
        #expect(outcome.refusal == .notAPicture)
    }

    @Test("bytes after the end of a picture don't matter")
    func polyglot() throws {
        let worker = try WorkerProcess()
        for tail in ["PK\u{3}\u{4}zip", "<html><script>alert(1)</script>", "*/ alert(1)"] {
            for name in ["baseline.jpg", "rgb8.png", "lossless.webp", "animated.gif"] {
                let picture = try Samples.bytes(name) + Array(tail.utf8)
                let thumbnail = try worker.perform(.thumbnail(side: 24, quality: 95), on: picture)
                #expect(thumbnail.outcome == .done(PictureFacts(width: 48, height: 32)), "\(name) with \(tail)")
                #expect(!String(decoding: thumbnail.output, as: UTF8.self).contains(tail))
            }
        }
    }
}

extension PictureAnswer.Outcome {
    /// The reason of a refusal; nil for other outcomes.
    var refusal: PictureRefusal.Reason? {
        if case .refused(let refusal) = self { return refusal.reason }
        return nil
    }

    var isFailed: Bool {
        if case .failed = self { return true }
        return false
    }
}

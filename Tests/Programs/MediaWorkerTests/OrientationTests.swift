import PictureJobs
import Testing

@Suite("Orientation", .serialized, .enabled(if: WorkerProcess.isBuiltWithLibvips, "built without libvips"))
struct OrientationTests {
    /// EXIF 2.32, 4.6.4 A, Orientation: the visible sides of row 0 and column 0 of the stored picture.
    static let all: [(UInt8, String)] = [
        (1, "red green blue yellow"), (2, "green red yellow blue"), (3, "yellow blue green red"),
        (4, "blue yellow red green"), (5, "red blue green yellow"), (6, "blue red yellow green"),
        (7, "yellow green blue red"), (8, "green yellow red blue"),
    ]

    @Test("pictures of all eight orientations come out upright", arguments: all)
    func upright(orientation: UInt8, quadrants: String) throws {
        let worker = try WorkerProcess()
        let picture = try Samples.jpeg(orientation: orientation)
        let isSwapped = orientation >= 5
        let facts = PictureFacts(width: isSwapped ? 32 : 48, height: isSwapped ? 48 : 32)

        #expect(try worker.perform(.measure, on: picture).outcome == .done(facts))

        let encoded = try worker.perform(.encode(quality: 95), on: picture)
        #expect(encoded.outcome == .done(facts))
        let whole = try Decoded(encoded.output)
        #expect((whole.width, whole.height) == (facts.width, facts.height))
        #expect(whole.quadrants == quadrants)

        let thumbnail = try worker.perform(.thumbnail(side: 24, quality: 95), on: picture)
        #expect(thumbnail.outcome == .done(facts))
        #expect(try Decoded(thumbnail.output).quadrants == quadrants)

        for steps in [["original"], ["rect:20x40"], ["rect:40x20", "rect:20x20"], ["original", "rect:60x80"]] {
            let drawn = try Decoded(try worker.perform(.draw(steps: steps), on: picture).output)
            #expect(drawn.quadrants == quadrants, "\(steps)")
        }
    }

    @Test("a PNG's orientation is applied as well")
    func png() throws {
        let worker = try WorkerProcess()
        let picture = try Samples.bytes("turned.png")
        #expect(try worker.perform(.measure, on: picture).outcome == .done(PictureFacts(width: 32, height: 48)))
        let drawn = try Decoded(try worker.perform(.draw(steps: ["original"]), on: picture).output)
        #expect(drawn.quadrants == "blue red yellow green")
    }

    @Test("no metadata about people, places and times is left", arguments: [1, 6] as [UInt8])
    func metadata(orientation: UInt8) throws {
        let worker = try WorkerProcess()
        let picture = try Samples.jpeg(orientation: orientation)
        let traces = [
            "Exif", "2026:11:21", "adobe", "xmp", "secret", "Photoshop", "ICC_PROFILE", "iCCP", "eXIf", "tEXt",
        ]
        let before = String(decoding: picture, as: UTF8.self)
        #expect(traces.prefix(7).allSatisfy(before.contains), "the picture has what is looked for")
        let jobs: [PictureJob.Operation] = [
            .thumbnail(side: 24, quality: 85), .encode(quality: 85), .draw(steps: ["original"]),
            .draw(steps: ["round:24x24,r=12,b=1"]),
        ]
        for job in jobs {
            let after = String(decoding: try worker.perform(job, on: picture).output, as: UTF8.self)
            #expect(!after.isEmpty)
            for trace in traces { #expect(!after.contains(trace), "\(trace) after \(job)") }
        }
    }
}

import Foundation
import Glibc
import LinuxSystem
import PictureJobs
import TestSupport
import Testing

@Suite("Hostile pictures", .serialized, .enabled(if: WorkerProcess.isBuiltWithLibvips, "built without libvips"))
struct HostileTests {
    static let jobs: [PictureJob.Operation] = [
        .measure, .thumbnail(side: 150, quality: 85), .encode(quality: 85), .draw(steps: ["rect:20x20"]),
    ]

    @Test(
        "are refused for their size before anything is decoded",
        arguments: [(30_000, 30_000), (70_000, 1), (1, 70_000), (8_000, 6_251), (900_000, 900_000)]
            as [(UInt32, UInt32)])
    func tooLarge(width: UInt32, height: UInt32) throws {
        let worker = try WorkerProcess()
        let picture = Samples.pngHeader(width: width, height: height)
        let before = try worker.status("VmHWM")
        for job in Self.jobs {
            let result = try worker.perform(job, on: picture)
            let refusal = try #require(result.outcome.refusal)
            // libpng itself refuses sides over a million pixels; all sizes here are smaller.
            #expect(refusal == .tooManyPixels)
            #expect(result.output.isEmpty)
        }
        let grown = try kilobytes(worker.status("VmHWM")) - kilobytes(before)
        #expect(grown < 50_000, "\(grown) KiB for a header")
    }

    @Test("are measured against the limit of the job")
    func limit() throws {
        let worker = try WorkerProcess()
        let picture = try Samples.bytes("rgb8.png")
        #expect(try worker.perform(.measure, on: picture, maximumPixels: 48 * 32).outcome.refusal == nil)
        #expect(try worker.perform(.measure, on: picture, maximumPixels: 48 * 32 - 1).outcome.refusal == .tooManyPixels)
        #expect(try worker.perform(.measure, on: picture, maximumPixels: .min).outcome.refusal == .tooManyPixels)
    }

    @Test(
        "that end early are refused, at every cut",
        arguments: [
            "baseline.jpg", "progressive.jpg", "rgb8.png", "interlaced.png", "animated.gif", "lossy.webp",
            "lossless.webp",
            "heic.heic", "avif.avif", "little16.tif", "tiled.tif",
        ])
    func truncated(name: String) throws {
        let worker = try WorkerProcess()
        let whole = try Samples.bytes(name)
        for length in stride(from: 16, to: whole.count * 9 / 10, by: max(1, whole.count / 12)) {
            for job in Self.jobs.dropFirst() {
                let result = try worker.perform(job, on: Array(whole.prefix(length)))
                #expect(result.outcome.refusal == .damaged, "\(job) of the first \(length) bytes: \(result.outcome)")
                #expect(result.output.isEmpty)
            }
        }
        let facts = PictureFacts(width: 48, height: 32)
        #expect(try worker.perform(.measure, on: whole).outcome == .done(facts), "the worker is as it was")
    }

    @Test("with flipped bits cost a job at most")
    func garbled() throws {
        let worker = try WorkerProcess()
        var random = SeededRandom(seed: 4)
        for name in [
            "baseline.jpg", "progressive.jpg", "palette.png", "animated.gif", "lossy.webp", "tiled.tif", "heic.heic",
        ] {
            let whole = try Samples.bytes(name)
            for _ in 0..<40 {
                var garbled = whole
                for _ in 0..<4 {
                    garbled[Int.random(in: 12..<whole.count, using: &random)] = .random(in: 0...255, using: &random)
                }
                let outcome = try worker.perform(.thumbnail(side: 24, quality: 85), on: garbled).outcome
                #expect(!outcome.isFailed, "\(name): \(outcome)")
            }
        }
    }

    @Test(
        "of other file types are refused, even if libvips can decode them",
        arguments: [
            "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><image href='file:///etc/passwd'/></svg>",
            "<?xml version='1.0'?><svg width='9' height='9'/>",
            "%PDF-1.4\n1 0 obj", "%!PS-Adobe-3.0 EPSF-3.0", "P6 1 1 255\n\u{1}\u{1}\u{1}", "Pf\n1 1\n-1.0\n1234",
            "BM\u{46}\0\0\0\0\0\0\0\u{36}\0\0\0\u{28}\0\0\0\u{1}\0\0\0\u{1}\0\0\0\u{1}\0\u{18}\0",
            "\0\0\0\u{0C}jP  \r\n\u{7F}\n\0\0\0\u{14}ftypjp2 ", "\0\0\0\u{0C}JXL \r\n\u{7F}\n",
            "push graphic-context\nviewbox 0 0 9 9\nimage over 0,0 0,0 'https://127.0.0.1/'",
            "id=ImageMagick version=1.0",
            "\u{8}\u{16}2|vips", "SIMPLE  =                    T", "1,2,3\n4,5,6\n", "#?RADIANCE\n", "v/1\u{1}",
            "8BPS\0\u{1}",
            "\0\0\0\u{18}ftypisom\0\0\u{2}\0isomavc1", "\0\0\0\u{18}ftypcrx \0\0\0\u{1}crx isom",
            "#EXTM3U\nfile:///etc/passwd",
            "GIF88a", "RIFF\0\0\0\0WAVEfmt ", "\u{1}", "plain text", "\u{FEFF}II*",
        ])
    func otherKinds(text: String) throws {
        let worker = try WorkerProcess()
        for job in Self.jobs {
            let result = try worker.perform(job, on: Array(text.utf8) + [UInt8](repeating: 0, count: 100))
            #expect(result.outcome.refusal == .notAPicture)
            #expect(result.output.isEmpty)
        }
    }

    @Test("that are empty, one byte long or only a signature are refused")
    func hardlyAnything() throws {
        let worker = try WorkerProcess()
        #expect(try worker.perform(.measure, on: [UInt8]()).outcome.refusal == .notAPicture)
        #expect(try worker.perform(.measure, on: [0xFF] as [UInt8]).outcome.refusal == .notAPicture)
        let signatures: [[UInt8]] = [
            [0xFF, 0xD8, 0xFF], Array("GIF89a".utf8), Array("RIFF\0\0\0\0WEBPVP8 ".utf8), [0x49, 0x49, 0x2A, 0],
            [0x4D, 0x4D, 0, 0x2B], [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], Array("\0\0\0\u{0C}ftypheic".utf8),
            Array("\0\0\0\u{18}ftypmif1\0\0\0\0avif".utf8),
        ]
        for signature in signatures {
            #expect(try worker.perform(.measure, on: signature).outcome.refusal == .damaged, "\(signature)")
            let padded = signature + [UInt8](repeating: 0xA5, count: 500)
            #expect(try worker.perform(.measure, on: padded).outcome.refusal != nil, "\(signature)")
        }
    }

    @Test("that are directories, pipes or devices are refused, and don't block")
    func notFiles() throws {
        let worker = try WorkerProcess()
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (reading, writing) = (
            SharedDescriptor(Descriptor(owning: ends[0])), SharedDescriptor(Descriptor(owning: ends[1]))
        )
        #expect(try worker.perform(.measure, on: reading).outcome.refusal == .notAPicture)
        #expect(try worker.perform(.measure, on: writing).outcome.refusal == .notAPicture)
        #expect(try worker.perform(.measure, on: "/tmp").outcome.refusal == .notAPicture)
        #expect(try worker.perform(.measure, on: "/dev/zero").outcome.refusal == .notAPicture)
    }

    @Test("that can't be read are not blamed")
    func unreadable() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("picture")
        let picture = try SharedDescriptor(opening: path, flags: O_WRONLY | O_CREAT, mode: 0o600)
        try writeAll(try Samples.bytes("rgb8.png"), to: picture.rawValue)
        #expect(try WorkerProcess().perform(.measure, on: picture).outcome.isFailed)
    }

    @Test("that are cut during a read cost no more than a job", arguments: ["gif", "jpg", "png", "tif", "webp"])
    func cutWhileRead(kind: String) throws {
        let worker = try WorkerProcess()
        let directory = try TemporaryDirectory()
        let path = directory.path("large.\(kind)")
        let made = try Command.run(
            "/usr/bin/env",
            [
                "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=1600x1200", "-frames:v", "1", "-pix_fmt",
                kind == "gif" ? "bgr8" : kind == "jpg" ? "yuvj420p" : "rgb24",
            ]
                + (kind == "webp" ? ["-pix_fmt", "yuv420p"] : []) + [path])
        try #require(made.code == 0)
        let length = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        let picture = try SharedDescriptor(opening: path, flags: O_RDWR)
        let output = try SharedDescriptor(opening: directory.path("out"), flags: O_RDWR | O_CREAT, mode: 0o600)
        // Sends three jobs at once and truncates the file while the worker processes them. The worker must answer
        // all three.
        for id in UInt64(1)...3 {
            let job = PictureJob(id: id, operation: .encode(quality: 85), maximumPixels: 50_000_000)
            try worker.send(try PictureWire.packet(of: job), with: [picture, output])
            if id == 2 { ftruncate(picture.rawValue, off_t(length / 2)) }
        }
        for id in UInt64(1)...3 {
            let answer = try #require(try worker.answer())
            #expect(answer.id == id)
            #expect(id < 3 || answer.outcome.refusal == .damaged, "\(answer.outcome)")
            #expect(!answer.outcome.isFailed)
        }
    }

    private func kilobytes(_ text: String) throws -> Int {
        try #require(text.split(separator: " ").first.flatMap { Int($0) })
    }
}

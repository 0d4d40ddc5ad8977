import Foundation
import Glibc
import LinuxSystem
import MediaTestSupport
import MediaTools
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Products

@Suite("Converting videos", .timeLimit(.minutes(3)))
struct VideoTranscoderTests {
    private let files: MediaFiles
    private let transcoder = VideoTranscoder(tools: MediaFiles.tools, height: 120, quality: 28)
    private static let mp4 = MediaType(kind: .video, mime: "video/mp4")

    init() throws { files = try MediaFiles() }

    /// Makes a second of a test pattern of 320 × 240, with much more data than needed.
    private func video(_ name: String, _ options: String = "-c:v libx264 -preset ultrafast -crf 5") async throws
        -> String
    {
        try await files.make("-f lavfi -i testsrc2=size=320x240:rate=10:duration=1 \(options) \(name)")
    }

    /// Converts a video and returns the path of the product.
    private func converted(_ path: String) async throws -> String {
        let run = try await StepRun(transcoder, on: path)
        #expect(run.outcome == .made(Self.mp4))
        return try files.write(try #require(run.product), "made.mp4")
    }

    private func isRefused(_ error: any Error) -> Bool {
        if case .refused = error as? ProductFailure { true } else { false }
    }

    @Test func `a video becomes small, upright H_264 with its index in front, and keeps date, camera and place`()
        async throws
    {
        let tags = [
            "creation_time=2024-05-06T07:08:09Z", "com.apple.quicktime.make=Apple",
            "com.apple.quicktime.creationdate=2024-05-06T09:08:09+0200", "location=+48.8500+002.3500/",
        ]
        let path = try await video(
            "v.mov",
            "-f lavfi -i sine=duration=1 -c:v mjpeg -q:v 2 -c:a pcm_s16le -movflags use_metadata_tags "
                + tags.map { "-metadata \($0)" }.joined(separator: " "))
        let parts = Mutex<[Double]>([])
        let run = try await StepRun(transcoder, on: path) { part in parts.withLock { $0.append(part) } }
        #expect(run.outcome == .made(Self.mp4))
        let product = try #require(run.product)
        let made = try files.write(product, "made.mp4")
        let streams = try await files.probe(made, "stream=codec_name,width,height,pix_fmt,nb_read_frames")
        for line in [
            "codec_name=h264", "codec_name=aac", "width=160", "height=120", "pix_fmt=yuv420p", "nb_read_frames=10",
        ] {
            #expect(streams.contains(line), "\(line)")
        }
        let kept = try await files.probe(made, "format_tags")
        #expect(kept.contains("TAG:com.apple.quicktime.make=Apple"))
        #expect(kept.contains("TAG:com.apple.quicktime.creationdate=2024-05-06T09:08:09+0200"))
        #expect(kept.contains("TAG:com.apple.quicktime.location.ISO6709=+48.8500+002.3500/"))
        #expect(kept.contains { $0.hasPrefix("TAG:creation_time=2024-05-06T07:08:09") })
        let index = try #require(product.firstRange(of: Data("moov".utf8)))
        let pictures = try #require(product.firstRange(of: Data("mdat".utf8)))
        #expect(index.lowerBound < pictures.lowerBound)
        #expect(parts.withLock { $0.last == 1 && $0 == $0.sorted() })
    }

    @Test(arguments: [90, 180, 270])
    func `a video filmed on the side looks the same`(degrees: Int) async throws {
        let plain = try await files.make(
            "\(MediaFiles.colours(seconds: 1)) -c:v libx264 -preset ultrafast -qp 0 -pix_fmt yuv420p plain.mp4")
        let path = try await files.make("-i \(plain) -c copy -metadata:s:v rotate=\(degrees) turned.mp4")
        // The flat colours take hardly any bits, so bytes that no reader looks at make the original larger.
        let padded = try Data(contentsOf: URL(filePath: path)) + [0, 1, 0, 0] + Array("free".utf8) + Data(count: 65528)
        let made = try await converted(try files.write(padded, "turned.mp4"))
        #expect(try await files.quadrants(made) == (try await files.quadrants(path)))
        #expect(try await files.quadrants(made) != ["red", "green", "blue", "yellow"])
        let size = degrees == 180 ? ["width=160", "height=120"] : ["width=120", "height=160"]
        let lines = try await files.probe(made, "stream=width,height:stream_side_data=rotation")
        #expect(lines.filter { !$0.hasPrefix("rotation=0") } == size)
    }

    @Test(arguments: ["smpte2084", "arib-std-b67"])
    func `high dynamic range becomes standard range`(transfer: String) async throws {
        let path = try await video(
            "hdr.mp4",
            "-vf format=yuv420p10le,setparams=color_trc=\(transfer):color_primaries=bt2020:colorspace=bt2020nc:range=tv"
                + " -c:v libx265 -preset ultrafast -x265-params log-level=none -crf 5 -tag:v hvc1")
        let made = try await converted(path)
        let lines = try await files.probe(made, "stream=pix_fmt,color_transfer,color_primaries,color_space")
        #expect(
            lines == ["pix_fmt=yuv420p", "color_space=bt709", "color_transfer=bt709", "color_primaries=bt709"])
        // The saturated colours of the test pattern are still there, neither black nor white.
        #expect(try await files.quadrants(made).allSatisfy { !$0.hasPrefix("[0, 0, 0]") })
    }

    @Test func `an ffmpeg that can't map tones is named, and the video refused`() async throws {
        let path = try await video(
            "hdr.mp4",
            "-vf format=yuv420p10le,setparams=color_trc=smpte2084 -c:v libx265 -preset ultrafast"
                + " -x265-params log-level=none:transfer=smpte2084 -tag:v hvc1")
        let program = try files.directory.file("ffmpeg", "#!/bin/sh\necho ' ... tonemap V->V'\n")
        chmod(program, 0o755)
        let step = VideoTranscoder(
            tools: VideoTools(prober: MediaFiles.tools.prober, converter: program), height: 120, quality: 28)
        await #expect {
            try await StepRun(step, on: path)
        } throws: { error in
            guard case .refused(let reason) = error as? ProductFailure else { return false }
            return reason.contains("zscale")
        }
    }

    @Test(arguments: [
        ("odd.mkv", "-vf scale=321:241 -c:v ffv1 -pix_fmt yuv444p", 160, 120),
        ("deep.mkv", "-c:v ffv1 -pix_fmt yuv420p10le", 160, 120),
        ("wide.mov", "-vf setsar=2/1 -c:v mjpeg -q:v 1", 320, 120),
        ("fields.mpg", "-c:v mpeg2video -q:v 1 -flags +ilme+ildct -r 25", 160, 120),
        ("tiny.avi", "-vf scale=63:35,setsar=1 -c:v ffv1", 62, 34),
        ("screen.webm", "-c:v libvpx-vp9 -lossless 1 -deadline realtime -cpu-used 8", 160, 120),
    ])
    func `every kind of picture gets even sides and square pixels`(
        name: String, options: String, width: Int, height: Int
    ) async throws {
        let made = try await converted(try await video(name, options))
        let lines = try await files.probe(made, "stream=width,height,pix_fmt,sample_aspect_ratio")
        #expect(lines == ["width=\(width)", "height=\(height)", "sample_aspect_ratio=1:1", "pix_fmt=yuv420p"])
    }

    @Test func `frames keep their number and their times`() async throws {
        let path = try await video(
            "uneven.mp4", "-vf select='not(mod(n,3))+lt(n,4)' -fps_mode vfr -c:v libx264 -preset ultrafast -crf 1")
        let times = "packet=pts_time"
        let (before, after) = (
            Set(try await files.probe(path, times)), Set(try await files.probe(try await converted(path), times))
        )
        #expect(before == after && before.count == 6)
    }

    @Test func `a video with subtitles or further sound stays as it is, and the reason is named`() async throws {
        let subtitles = try files.write(Array("1\n00:00:00,000 --> 00:00:01,000\nhello\n".utf8), "s.srt")
        for (inputs, reason) in [
            ("-i \(subtitles)", "subtitles"),
            ("-f lavfi -i sine=duration=1 -f lavfi -i sine=frequency=300:duration=1 -map 2", "several tracks of sound"),
            ("-f lavfi -i testsrc=duration=1", "several tracks of pictures"),
        ] {
            let path = try await video("v.mkv", "\(inputs) -map 0 -map 1 -c:v ffv1 -c:a flac -y")
            await #expect(throws: refusal(of: reason)) { try await StepRun(transcoder, on: path) }
        }
    }

    private func refusal(of reason: String) -> ProductFailure {
        .refused("the video holds what a conversion would lose: \(reason)")
    }

    /// A video with boxes in its only track.
    private func video(with boxes: [UInt8]) async throws -> String {
        let file = [UInt8](try Data(contentsOf: URL(filePath: try await video("plain.mp4"))))
        func change(_ type: String, in file: inout [UInt8], by length: Int) throws {
            let place = try #require(file.firstRange(of: Array(type.utf8))).lowerBound - 4
            let size = file[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } + length
            file.replaceSubrange(place..<place + 4, with: (0..<4).map { UInt8(size >> (24 - 8 * $0) & 0xFF) })
        }
        var changed = file
        let end = try #require(file.firstRange(of: Array("mdia".utf8))).lowerBound - 4
        changed.insert(contentsOf: boxes, at: end)
        for type in ["moov", "trak"] { try change(type, in: &changed, by: boxes.count) }
        return try files.write(changed, "boxed.mp4")
    }

    @Test func `a video with a box of an unknown kind stays as it is`() async throws {
        let sphere: [UInt8] = [
            0xFF, 0xCC, 0x82, 0x63, 0xF8, 0x55, 0x4A, 0x93, 0x88, 0x14, 0x58, 0x7A, 0x02, 0x52, 0x1F, 0xDD,
        ]
        let uuid = [0, 0, 0, 25] + Array("uuid".utf8) + sphere + [0]
        let xmp = Array("\0\0\0\u{14}udta\0\0\0\u{C}XMP_<x/>".utf8)
        for boxes in [uuid, xmp, [0, 0, 0, 33] + Array("udta".utf8) + uuid] {
            let path = try await video(with: boxes)
            await #expect(throws: refusal(of: "metadata that a conversion does not keep")) {
                try await StepRun(transcoder, on: path)
            }
        }
        let plain = try Data(contentsOf: URL(filePath: try await video("plain.mp4")))
        for (box, reason) in [
            (Array("\0\0\0\u{8}sefd".utf8), "a box of the unknown kind sefd"),
            (Array("trailer".utf8), "data behind its end, or it ends early"),
        ] {
            let path = try files.write(plain + box, "v.mp4")
            await #expect(throws: refusal(of: reason)) { try await StepRun(transcoder, on: path) }
        }
    }

    @Test(arguments: [
        ("a.mp4", "-c:v libx264 -pix_fmt yuv420p -x264-params frame-packing=3", "stereoscopic pictures"),
        ("a.mkv", "-c:v libx264 -pix_fmt yuv420p -x264-params frame-packing=3", "stereoscopic pictures"),
        ("a.webm", "-vf format=yuva420p -c:v libvpx-vp9 -deadline realtime -cpu-used 8", "transparency"),
        ("b.mkv", "-c:v mpeg4 -metadata:s:v SPHERICAL-VIDEO=<rdf/>", "spherical pictures (360°)"),
    ])
    func `what only the stream or a tag in capitals tells is not lost`(
        name: String, options: String, reason: String
    ) async throws {
        let path = try await video(name, options)
        let copy = try await files.make("-i \(path) -c copy copy.\(name.hasSuffix("mp4") ? "mp4" : "mkv")")
        for path in [path, copy] {
            await #expect(throws: refusal(of: reason)) { try await StepRun(transcoder, on: path) }
        }
    }

    @Test func `layers of HEVC for transparency or the other eye are noticed`() {
        func configuration(_ heads: [[UInt8]]) -> [UInt8] {
            [UInt8](repeating: 0, count: 22) + [UInt8(heads.count)] + heads.flatMap { [0x20, 0, 1, 0, 3] + $0 + [7] }
        }
        #expect(!MovieBoxes.hasLayers(configuration([[0x40, 1], [0x42, 1]])))
        #expect(MovieBoxes.hasLayers(configuration([[0x40, 1], [0x42, 9]])))
        #expect(!MovieBoxes.hasLayers([]) && !MovieBoxes.hasLayers(configuration([[0x40, 1]]).dropLast(3)))
    }

    @Test func `high pictures without a name of their colours are named in the result`() async throws {
        let path = try await files.make(
            "-f lavfi -i testsrc2=size=1280x720:rate=5:duration=1 -pix_fmt yuv420p -c:v libx264 -preset ultrafast -crf 5 v.mp4"
        )
        let lines = try await files.probe(
            try await converted(path), "stream=color_transfer,color_primaries,color_space")
        #expect(lines == ["color_space=bt709", "color_transfer=bt709", "color_primaries=bt709"])
    }

    @Test func `a video that is small already is left alone, or only gets its index in front`() async throws {
        let options = "-f lavfi -i sine=duration=1 -vf scale=160:120 -c:v libx264 -crf 28 -pix_fmt yuv420p -c:a aac"
        let behind = try await video("behind.mp4", options)
        let front = try await video("front.mp4", "\(options) -movflags +faststart")
        #expect(try await StepRun(transcoder, on: front).outcome == .unchanged)
        let made = try await converted(behind)
        #expect(try await StepRun(transcoder, on: made).outcome == .unchanged)
        let hashes = "-map 0 -c copy -f streamhash"
        let (before, after) = (
            try await files.make("-i \(behind) \(hashes) before"), try await files.make("-i \(made) \(hashes) after")
        )
        #expect(try String(contentsOfFile: before, encoding: .utf8) == String(contentsOfFile: after, encoding: .utf8))
    }

    @Test func `a video that would not shrink stays as it is`() async throws {
        let path = try await files.make(
            "-f lavfi -i testsrc2=size=320x240:rate=5:duration=1 -c:v libx265 -x265-params log-level=none -crf 45 v.mp4"
        )
        #expect(
            try await StepRun(VideoTranscoder(tools: MediaFiles.tools, height: 240, quality: 0), on: path).outcome
                == .unchanged)
    }

    @Test func `sound without pictures, and what is no video, stay as they are`() async throws {
        let sound = try await files.make("-f lavfi -i sine=duration=1 -c:a aac sound.mp4")
        #expect(try await StepRun(transcoder, on: sound).outcome == .unchanged)
        let text = try files.write(Array("#EXTM3U\nfile:///etc/passwd\n".utf8), "list.mp4")
        #expect(try await StepRun(transcoder, on: text).outcome == .unchanged)
    }

    @Test func `a play list is refused where it claims to be a video`() async throws {
        let text = try files.write(Array("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n".utf8), "list.mp4")
        await #expect(performing: { try await perform(on: text, into: "made") }, throws: isRefused)
    }

    @Test func `a damaged video is refused`() async throws {
        let whole = try Data(
            contentsOf: URL(filePath: try await video("v.mp4", "-c:v mpeg4 -q:v 1 -movflags +faststart")))
        let path = try files.write(whole.prefix(whole.count * 2 / 3), "cut.mp4")
        await #expect(performing: { try await StepRun(transcoder, on: path) }, throws: isRefused)
        var garbled = whole
        for offset in stride(from: whole.count / 2, to: whole.count - 100, by: 50) { garbled[offset] ^= 0x5A }
        let other = try files.write(garbled, "garbled.mp4")
        await #expect(performing: { try await StepRun(transcoder, on: other) }, throws: isRefused)
    }

    @Test func `a full disk is told apart`() async throws {
        let path = try await video("v.mp4")
        await #expect(throws: ProductFailure.noSpace) { try await perform(on: path, into: "/dev/full") }
    }

    @Test func `a missing program is named`() async throws {
        let path = try await video("v.mp4")
        let step = VideoTranscoder(
            tools: VideoTools(prober: MediaFiles.tools.prober, converter: nil), height: 120, quality: 28)
        #expect(step.missing?.contains("ffmpeg is not in the PATH") == true)
        #expect(transcoder.missing == nil)
        await #expect {
            try await StepRun(step, on: path)
        } throws: { error in
            if case .missing = error as? ProductFailure { true } else { false }
        }
    }

    @Test func `a conversion ends when its task is cancelled`() async throws {
        // Takes minutes to convert.
        let path = try await files.make(
            "-f lavfi -i testsrc=size=320x240:rate=30:duration=5 -c:v mpeg4 -q:v 2 short.mp4")
        let long = try await files.make("-stream_loop 200 -i \(path) -c copy long.mp4")
        let hasBegun = Mutex(false)
        let task = Task {
            try await StepRun(transcoder, on: long) { _ in hasBegun.withLock { $0 = true } }
        }
        try await Poll.until("it has begun") { hasBegun.withLock { $0 } }
        task.cancel()
        await #expect(throws: ProductFailure.cancelled) { _ = try await task.value }
    }

    /// Performs the step on a file that claims to be an MP4 file.
    private func perform(on path: String, into output: String) async throws -> StepOutcome {
        let input = ProductInput(
            file: try SharedDescriptor(opening: path, flags: O_RDONLY), type: Self.mp4,
            size: UInt64(try Data(contentsOf: URL(filePath: path)).count))
        let output = output.hasPrefix("/") ? output : files.directory.path(output)
        let file = try SharedDescriptor(opening: output, flags: O_RDWR | O_CREAT, mode: 0o600)
        return try await transcoder.perform(on: input, into: file, scratch: files.directory.path) { _ in }
    }
}

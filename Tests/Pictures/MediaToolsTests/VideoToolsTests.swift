import Foundation
import Glibc
import LinuxSystem
import Processes
import TestSupport
import Testing
import UploadCore

@testable import MediaTools

enum VideoPrograms {
    static let found = VideoTools.find(in: ProcessInfo.processInfo.environment["PATH"])
}

@Suite("Videos", .timeLimit(.minutes(3)))
struct VideoToolsTests {
    private let directory: TemporaryDirectory
    private let samples: SampleVideos
    private let tools = VideoPrograms.found

    init() throws {
        directory = try TemporaryDirectory()
        samples = SampleVideos(directory: directory)
        try #require(tools.prober != nil && tools.converter != nil, "these tests need ffmpeg: scripts/packages.sh")
    }

    private func facts(_ path: String, _ type: String = "mp4") async throws -> VideoFacts {
        try await tools.facts(of: opened(path), type: MediaType(video: type))
    }

    /// Extracts a frame of a video and returns width and height from the PNG header.
    private func frame(_ path: String, _ type: String = "mp4", duration: Double? = 2) async throws -> [Int] {
        let output = try opened(directory.path("frame.png"), flags: O_RDWR | O_CREAT | O_TRUNC)
        try await tools.frame(of: opened(path), type: MediaType(video: type), duration: duration, into: output)
        let picture = [UInt8](FileManager.default.contents(atPath: directory.path("frame.png")) ?? Data())
        try #require(picture.count > 100 && picture[1...3].elementsEqual("PNG".utf8))
        return [16, 20].map { offset in picture[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
    }

    @Test(arguments: [("smpte2084", 16), ("arib-std-b67", 18)])
    func `a frame of high dynamic range says so, and one of standard range does not`(
        transfer: String, code: UInt8
    ) async throws {
        let deep = "-vf format=yuv420p10le,setparams=color_trc=\(transfer) -c:v ffv1"
        for (path, chunk) in [
            (try await samples.make("hdr.mkv", deep), [9, code, 0, 1]),
            (try await samples.make("deep.mkv", "-vf format=yuv420p10le -c:v ffv1"), nil),
        ] as [(String, [UInt8]?)] {
            #expect(try await frame(path, "x-matroska") == [320, 240])
            let picture = [UInt8](FileManager.default.contents(atPath: directory.path("frame.png")) ?? Data())
            let found = picture.firstRange(of: Array("cICP".utf8)).map {
                Array(picture[$0.upperBound..<$0.upperBound + 4])
            }
            #expect(found == chunk)
            // libvips checks the sums of all chunks.
            try await samples.ffmpeg("-i \(directory.path("frame.png")) -f null -")
        }
    }

    private func isRefused(_ error: any Error) async -> Bool {
        if case .refused = error as? VideoFailure { true } else { false }
    }

    @Test(arguments: [
        ("v.mp4", "mp4", "-c:v libx264 -pix_fmt yuv420p"), ("v.mov", "quicktime", "-c:v mjpeg -pix_fmt yuvj420p"),
        ("v.mkv", "x-matroska", "-c:v libx264"), ("v.webm", "webm", "-c:v libvpx"),
        ("v.avi", "x-msvideo", "-c:v mpeg4"), ("v.ts", "mp2t", "-c:v mpeg2video"),
        ("v.mpg", "mpeg", "-c:v mpeg2video"), ("v.flv", "x-flv", "-c:v flv"),
        ("v.3gp", "3gpp", "-c:v mpeg4"),
    ])
    func `every container tells size and duration, and gives a picture`(
        name: String, type: String, options: String
    ) async throws {
        let path = try await samples.make(name, options)
        let facts = try await facts(path, type)
        #expect([facts.width, facts.height] == [320, 240])
        let duration = try #require(facts.duration)
        #expect((1.5...2.5).contains(duration))
        #expect(try await frame(path, type, duration: duration) == [320, 240])
    }

    @Test func `a video with sound and a cover picture is measured by its video`() async throws {
        let plain = try await samples.make(
            "plain.mp4", "-f lavfi -i sine=duration=2 -map 0 -map 1 -c:v libx264 -c:a aac")
        try await samples.ffmpeg(
            "-f lavfi -i testsrc=size=64x64:duration=0.1 -frames:v 1 \(directory.path("cover.png"))")
        let path = directory.path("covered.mp4")
        try await samples.ffmpeg(
            "-i \(directory.path("cover.png")) -i \(plain) -map 0 -map 1 -c copy -disposition:v:0 attached_pic \(path)")
        let facts = try await facts(path)
        #expect([facts.width, facts.height] == [320, 240])
        #expect(try await frame(path) == [320, 240])
    }

    @Test(arguments: [90, 180, 270])
    func `a video that was filmed on the side stands upright`(degrees: Int) async throws {
        let plain = try await samples.make("plain.mp4", "-c:v libx264")
        let path = directory.path("turned.mp4")
        try await samples.ffmpeg("-i \(plain) -c copy -metadata:s:v rotate=\(degrees) \(path)")
        let upright = degrees == 180 ? [320, 240] : [240, 320]
        let facts = try await facts(path)
        #expect([facts.width, facts.height] == upright)
        #expect(try await frame(path) == upright)
    }

    @Test func `pixels that are not square are shown as they should be`() async throws {
        let path = try await samples.make("wide.mp4", "-vf setsar=2/1 -c:v libx264")
        let facts = try await facts(path)
        #expect([facts.width, facts.height] == [640, 240])
        #expect(try await frame(path) == [640, 240])
    }

    @Test func `the picture of a large video is no larger than it needs to be`() async throws {
        let path = try await samples.make(
            "large.mp4", "-vf scale=1920:1080,setsar=1 -frames:v 3 -c:v libx264 -preset ultrafast")
        #expect(try await frame(path) == [640, 360])
    }

    @Test func `the picture is taken a tenth into the video`() async throws {
        // Black for the first half of a second.
        try await samples.ffmpeg(
            "-f lavfi -i color=black:size=64x64:rate=10:duration=0.5 -f lavfi -i color=white:size=64x64:rate=10:duration=9.5"
                + " -filter_complex concat=n=2 -c:v libx264 -g 5 -pix_fmt yuv420p \(directory.path("late.mp4"))")
        _ = try await frame(directory.path("late.mp4"), duration: 10)
        let late = try FileStatus(path: directory.path("frame.png")).size
        try await samples.ffmpeg(
            "-i \(directory.path("frame.png")) -pix_fmt gray -f rawvideo \(directory.path("gray"))")
        let gray = [UInt8](FileManager.default.contents(atPath: directory.path("gray")) ?? Data())
        #expect(late > 0 && gray.count == 64 * 64 && gray.allSatisfy { $0 > 200 })
    }

    @Test func `a video of sound alone has a duration, and no picture`() async throws {
        try await samples.ffmpeg("-f lavfi -i sine=duration=2 -c:a aac \(directory.path("sound.mp4"))")
        let facts = try await facts(directory.path("sound.mp4"))
        #expect(facts.width == nil && facts.height == nil && facts.duration != nil)
        await #expect(performing: { try await frame(directory.path("sound.mp4")) }, throws: isRefused)
    }

    @Test func `a video without a single frame is refused, though ffmpeg is content with it`() async throws {
        try await samples.ffmpeg(
            "-f lavfi -i testsrc=size=320x240:duration=1 -frames:v 0 -c:v libx264 \(directory.path("none.mp4"))")
        await #expect(performing: { try await frame(directory.path("none.mp4")) }, throws: isRefused)
    }

    @Test func `where there is nothing at the moment sought, the first frame is taken`() async throws {
        let path = try await samples.make("short.mkv", "-c:v libx264")
        #expect(try await frame(path, "x-matroska", duration: 600) == [320, 240])
    }

    @Test func `a truncated video is refused`() async throws {
        let path = try await samples.make("whole.mp4", "-c:v libx264")
        truncate(path, 500)
        await #expect(performing: { try await facts(path) }, throws: isRefused)
    }

    @Test func `a video with more pixels than allowed gives no picture`() async throws {
        let path = try await samples.make("huge.avi", "-c:v mjpeg -pix_fmt yuvj420p -frames:v 1")
        // The chunks avih and strf and the frame header all contain the size.
        var bytes = [UInt8](FileManager.default.contents(atPath: path) ?? Data())
        let width = [UInt8](withUnsafeBytes(of: UInt32(320).littleEndian) { Array($0) })
        let height = [UInt8](withUnsafeBytes(of: UInt32(240).littleEndian) { Array($0) })
        let huge = [UInt8](withUnsafeBytes(of: UInt32(30_000).littleEndian) { Array($0) })
        for offset in bytes.indices.dropLast(19) {
            if Array(bytes[offset..<offset + 8]) == width + height {
                bytes.replaceSubrange(offset..<offset + 8, with: huge + huge)
            }
            if bytes[offset] == 0xFF, bytes[offset + 1] == 0xC0, bytes[offset + 4] == 8 {
                bytes.replaceSubrange(offset + 5..<offset + 9, with: [0x75, 0x30, 0x75, 0x30])
            }
        }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        await #expect(performing: { try await frame(path, "x-msvideo") }, throws: isRefused)
    }

    @Test(arguments: VideoContainer.allCases)
    func `a play list or script is no video, whatever it is called, and nothing it names is touched`(
        container: VideoContainer
    ) async throws {
        let trap = try await Trap(samples)
        for text in trap.scripts {
            let path = try directory.file("list.mp4", text)
            await #expect(performing: { _ = try await facts(path, container.mime) }, throws: isRefused)
            await #expect(performing: { _ = try await frame(path, container.mime) }, throws: isRefused)
        }
        #expect(!trap.isSprung)
    }

    @Test(arguments: VideoContainer.allCases)
    func `that holds by the options alone, where the kernel has no sandbox`(container: VideoContainer) async throws {
        let trap = try await Trap(samples)
        for text in trap.scripts {
            let options = container.inputOptions(maximumPixels: 1_000_000)
            await #expect(throws: ToolFailure.self) { try await probe(text, options) }
        }
        #expect(!trap.isSprung)
    }

    @Test func `left to itself, ffprobe walks into the trap`() async throws {
        let trap = try await Trap(samples)
        #expect(try await probe(trap.scripts[0], ["-safe", "0", "-f", "concat"]).contains("width=320"))
        #expect(trap.isSprung)
    }

    @Test(arguments: [false, true])
    func `a QuickTime file that refers to another file does not have it opened`(isLetTo: Bool) async throws {
        let whole = try await samples.make("whole.mov", "-c:v mjpeg -pix_fmt yuvj420p")
        let trap = try await Trap(samples)
        let bytes = [UInt8](FileManager.default.contents(atPath: whole) ?? Data())
        let path = directory.path("alias.mov")
        try Data(ExternalReference.put(into: bytes[...], path: trap.secret)).write(to: URL(fileURLWithPath: path))
        let options = VideoContainer.mov.inputOptions(maximumPixels: 1_000_000)
        _ = try? await probe(file: path, isLetTo ? ["-enable_drefs", "1"] : options)
        _ = try? await frame(path, "quicktime")
        // An unconfined ffprobe opens the file, so the trap works.
        #expect(trap.isSprung == isLetTo)
    }

    /// Runs ffprobe on a script without confinement and returns the output.
    private func probe(_ script: String, _ options: [String]) async throws -> String {
        try await probe(file: try directory.file("list.mp4", script), options)
    }

    private func probe(file path: String, _ options: [String]) async throws -> String {
        let prober = try #require(tools.prober)
        let output = try await ToolRun.run(
            prober, ["-loglevel", "error"] + options + ["-show_entries", "stream=width", "-i", path],
            input: nullDevice(), limits: ProcessLimits(addressSpace: 4 << 30, fileSize: 1 << 30), confinement: nil,
            within: .seconds(60))
        return String(decoding: output, as: UTF8.self)
    }

    @Test func `a program that hangs, or is missing, is not the video's fault`() async throws {
        let path = try await samples.make("v.mp4", "-c:v libx264")
        let none = VideoTools(prober: nil, converter: nil)
        await #expect(throws: VideoFailure.missing("ffprobe is not installed")) {
            try await none.facts(of: opened(path), type: MediaType(video: "mp4"))
        }
        let gone = VideoTools(prober: "/nowhere/ffprobe", converter: nil)
        await #expect {
            try await gone.facts(of: opened(path), type: MediaType(video: "mp4"))
        } throws: { error in
            if case .failed = error as? VideoFailure { true } else { false }
        }
    }

    @Test func `only programs in absolute directories are found`() throws {
        let program = try directory.program("ffmpeg", "#!/bin/sh\n")
        let found = VideoTools.find(in: ".:bin:\(directory.path):/usr/bin")
        #expect(found.converter == program)
        #expect(VideoTools.find(in: "/nowhere").prober == nil)
    }
}

@Suite("What ffprobe reports")
struct ProbeReportTests {
    private func facts(_ text: String) throws -> VideoFacts { try ProbeReport.facts(in: Array(text.utf8)) }

    private func stream(_ more: String) -> String {
        #"{"programs": [], "streams": [{"width": 1440, "height": 1080\#(more)}], "format": {"duration": "12.5"}}"#
    }

    @Test(arguments: [
        ("", 1440, 1080), (#", "sample_aspect_ratio": "4:3""#, 1920, 1080),
        (#", "sample_aspect_ratio": "0:1""#, 1440, 1080), (#", "sample_aspect_ratio": "N/A""#, 1440, 1080),
        (#", "sample_aspect_ratio": "1:0""#, 1440, 1080),
        (#", "side_data_list": [{}, {"rotation": -90}]"#, 1080, 1440), (#", "tags": {"rotate": "270"}"#, 1080, 1440),
        (#", "tags": {"rotate": "nonsense"}"#, 1440, 1080), (#", "side_data_list": [{"rotation": 180}]"#, 1440, 1080),
        (#", "sample_aspect_ratio": "4:3", "side_data_list": [{"rotation": 90}]"#, 1080, 1920),
    ])
    func `the size is as shown`(more: String, width: Int, height: Int) throws {
        #expect(try facts(stream(more)) == VideoFacts(width: width, height: height, duration: 12.5))
    }

    @Test(arguments: ["-1", "0", "nan", "inf", "N/A", "1e300", "31622401", "9223372036854.775807", ""])
    func `a duration that can't be is dropped`(text: String) throws {
        #expect(try facts(#"{"format": {"duration": "\#(text)"}}"#).duration == nil)
    }

    @Test func `where the container does not say, the stream's own duration counts`() throws {
        #expect(try facts(#"{"streams": [{"duration": "3.5"}], "format": {"duration": "N/A"}}"#).duration == 3.5)
    }

    @Test(arguments: [("0", "10"), ("-5", "10"), ("70000", "10")])
    func `sides that can't be are dropped`(width: String, height: String) throws {
        let known = try facts(#"{"streams": [{"width": \#(width), "height": \#(height)}]}"#)
        #expect(known.width == nil && known.height == nil)
    }

    @Test(arguments: ["", "{", "[]", "null"])
    func `an answer that is none is refused`(text: String) {
        #expect(throws: VideoFailure.refused("ffprobe printed no valid report")) { try facts(text) }
    }
}

extension VideoContainer {
    fileprivate var mime: String {
        switch self {
        case .mov: "mp4"
        case .matroska: "x-matroska"
        case .avi: "x-msvideo"
        case .flv: "x-flv"
        case .mpegts: "mp2t"
        case .mpeg: "mpeg"
        }
    }
}

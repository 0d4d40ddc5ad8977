import MediaTools
import Synchronization
import Testing

@testable import Products

@Suite("How a video is converted")
struct VideoPlanTests {
    private func plan(
        _ streams: String..., container: VideoContainer = .mov, format: String = "", hasIndexInFront: Bool = true
    ) throws -> VideoPlan {
        let text = #"{"streams": [\#(streams.joined(separator: ", "))], "format": {"duration": "10"\#(format)}}"#
        return try VideoPlan(
            ProbeReport(Array(text.utf8)), in: container, lines: 480, quality: 23, hasIndexInFront: hasIndexInFront)
    }

    private func video(
        _ more: String = "", codec: String = "h264", width: Int = 854, height: Int = 480, pixels: String = "yuv420p",
        bits: Int = 1_000_000
    ) -> String {
        #"{"index": 0, "codec_type": "video", "codec_name": "\#(codec)", "width": \#(width), "height": \#(height), "#
            + #""pix_fmt": "\#(pixels)", "avg_frame_rate": "30/1", "bit_rate": "\#(bits)"\#(more)}"#
    }

    private func sound(
        _ index: Int, codec: String = "aac", channels: Int = 2, bits: Int = 128_000, isDefault: Bool = true
    ) -> String {
        #"{"index": \#(index), "codec_type": "audio", "codec_name": "\#(codec)", "channels": \#(channels), "#
            + #""bit_rate": "\#(bits)", "disposition": {"default": \#(isDefault ? 1 : 0)}}"#
    }

    private func transcoding(_ plan: VideoPlan) -> Transcoding {
        guard case .transcode(let transcoding) = plan else {
            Issue.record("\(plan)")
            return Transcoding(video: 0, width: 0, height: 0, isInterlaced: false, quality: 0)
        }
        return transcoding
    }

    @Test func `a small video is left alone, or copied for its index`() throws {
        #expect(try plan(video(), sound(1)) == .leave)
        #expect(try plan(video()) == .leave)
        #expect(try plan(video(width: 480, height: 854), sound(1)) == .leave)
        #expect(try plan(video(pixels: "yuvj420p")) == .leave)
        #expect(try plan(video(), sound(1), hasIndexInFront: false) == .remux)
        #expect(try plan(video(), sound(1), container: .matroska) == .remux)
        #expect(try plan(sound(0)) == .leave)
        #expect(try plan(video(#", "disposition": {"attached_pic": 1}"#), sound(1)) == .leave)
    }

    @Test(arguments: [
        #", "side_data_list": [{"side_data_type": "Spherical Mapping"}]"#,
        #", "side_data_list": [{"side_data_type": "Stereo 3D", "type": "side by side"}]"#,
        #", "tags": {"stereo_mode": "left_right"}"#, #", "tags": {"alpha_mode": "1"}"#,
        #", "tags": {"ALPHA_MODE": "1"}"#, #", "tags": {"STEREO_MODE": "left_right"}"#,
        #", "tags": {"SPHERICAL-VIDEO": "<rdf/>"}"#,
    ])
    func `a video that would lose something is refused, and left alone if it needs no conversion`(more: String) throws {
        #expect(throws: ProductFailure.self) { try plan(video(more, codec: "hevc")) }
        #expect(throws: ProductFailure.self) { try plan(video(more), hasIndexInFront: false) }
        #expect(try plan(video(more)) == .leave)
    }

    @Test func `stereoscopic pictures that only a picture tells are not lost`() throws {
        func plan(_ data: String) throws -> VideoPlan {
            let frames = #"[{}, {"side_data_list": [{"side_data_type": "\#(data)"}]}]"#
            let text = #"{"streams": [\#(video(codec: "hevc"))], "frames": \#(frames)}"#
            return try VideoPlan(
                ProbeReport(Array(text.utf8)), in: .mov, lines: 480, quality: 23, hasIndexInFront: true)
        }
        #expect(throws: ProductFailure.self) { try plan("Stereo 3D") }
        #expect(transcoding(try plan("Content light level metadata")).width == 854)
    }

    @Test(arguments: ["yuva420p", "yuva444p12le", "rgba", "argb", "gbrap10le", "ya8", "bgra64le"])
    func `transparency is not lost`(pixels: String) throws {
        #expect(throws: ProductFailure.self) { try plan(video(codec: "prores", pixels: pixels)) }
    }

    private func track(_ kind: String, _ tag: String) -> String {
        #"{"index": 1, "codec_type": "\#(kind)", "codec_tag_string": "\#(tag)", "disposition": {"default": 0}}"#
    }

    @Test(arguments: [
        ("video", "avc1"), ("data", "gpmd"), ("data", "camm"), ("data", "[6][0][0][0]"), ("subtitle", "tx3g"),
        ("attachment", "[0][0][0][0]"), ("audio", "mp4a"),
    ])
    func `no track is lost that tells more than the picture`(kind: String, tag: String) throws {
        #expect(throws: ProductFailure.self) { try plan(video(codec: "hevc"), sound(2), track(kind, tag)) }
    }

    @Test(arguments: [("data", "tmcd"), ("data", "mebx"), ("data", "text"), ("audio", "apac")])
    func `tracks that only serve a player may go`(kind: String, tag: String) throws {
        #expect(transcoding(try plan(video(codec: "hevc"), sound(2), track(kind, tag))).sound?.index == 2)
    }

    @Test func `an unknown box stands in the way of a conversion only`() throws {
        func plan(_ codec: String) throws -> VideoPlan {
            try VideoPlan(
                ProbeReport(Array(#"{"streams": [\#(video(codec: codec))]}"#.utf8)), in: .mov, lines: 480, quality: 23,
                hasIndexInFront: true, obstacle: "a box")
        }
        #expect(try plan("h264") == .leave)
        #expect(throws: ProductFailure.self) { try plan("hevc") }
    }

    @Test func `pictures that do not name their colours get the name that players assume`() throws {
        func untagged(_ more: String, _ width: Int, _ height: Int, _ pixels: String) throws -> Transcoding.Untagged? {
            let stream = video(more, codec: "hevc", width: width, height: height, pixels: pixels)
            return transcoding(try plan(stream)).untagged
        }
        #expect(try untagged("", 1280, 720, "yuv420p") == .highDefinition)
        #expect(try untagged(#", "color_space": "unknown""#, 720, 1280, "yuv420p") == .highDefinition)
        #expect(try untagged(#", "color_space": "bt470bg""#, 1920, 1080, "yuv420p") == nil)
        #expect(try untagged("", 720, 576, "yuv420p") == nil)
        #expect(try untagged("", 640, 480, "gbrp") == .rgb)
    }

    @Test func `every limit that is exceeded makes a conversion`() throws {
        for exceeding in [
            video(codec: "hevc"), video(width: 1280, height: 720), video(pixels: "yuv420p10le"), video(bits: 3_000_000),
            video(#", "color_transfer": "smpte2084""#),
        ] {
            _ = transcoding(try plan(exceeding, sound(1)))
        }
        _ = transcoding(try plan(video(), sound(1, codec: "pcm_s16le")))
        _ = transcoding(try plan(video(), container: .avi))
    }

    @Test(arguments: [
        (1920, 1080, 854, 480), (1080, 1920, 480, 854), (3840, 2160, 854, 480), (640, 480, 640, 480),
        (641, 361, 640, 360),
        (1000, 1000, 480, 480), (1, 1, 2, 2), (4096, 500, 3932, 480),
    ])
    func `the shorter side gets the limit, and both are even`(
        width: Int, height: Int, scaledWidth: Int, scaledHeight: Int
    ) throws {
        let transcoding = transcoding(try plan(video(codec: "hevc", width: width, height: height)))
        #expect([transcoding.width, transcoding.height] == [scaledWidth, scaledHeight])
    }

    @Test func `a video on its side is measured upright`() throws {
        let turned = video(#", "side_data_list": [{"rotation": -90}]"#, width: 1920, height: 1080)
        let transcoding = transcoding(try plan(turned))
        #expect([transcoding.width, transcoding.height] == [480, 854])
    }

    /// The sound of a converted video with these tracks of sound.
    private func chosen(_ tracks: [String]) throws -> Transcoding.Sound? {
        let plan = try plan(([video(codec: "hevc")] + tracks).joined(separator: ", "))
        return transcoding(plan).sound
    }

    @Test func `the sound is copied if it is small already`() throws {
        typealias Sound = Transcoding.Sound
        #expect(try chosen([]) == nil)
        #expect(try chosen([sound(1)]) == Sound(index: 1, isCopied: true, channels: 2))
        #expect(try chosen([sound(2, channels: 6)]) == Sound(index: 2, isCopied: false, channels: 2))
        #expect(try chosen([sound(1, bits: 320_000)]) == Sound(index: 1, isCopied: false, channels: 2))
        #expect(try chosen([sound(1, codec: "opus", channels: 1)]) == Sound(index: 1, isCopied: false, channels: 1))
    }

    @Test func `fields and high dynamic range are noticed`() throws {
        #expect(try transcoding(plan(video(#", "field_order": "tt""#, codec: "mpeg2video"))).isInterlaced)
        let hlg = transcoding(try plan(video(#", "color_transfer": "arib-std-b67""#, codec: "hevc")))
        #expect(hlg.highDynamicRange == .hlg && !hlg.isInterlaced)
    }

    private func dolbyVision(base: Int) -> String {
        video(#", "side_data_list": [{"dv_bl_signal_compatibility_id": \#(base)}]"#, codec: "hevc")
    }

    @Test func `Dolby Vision without a base for other players is refused`() throws {
        #expect(throws: ProductFailure.self) { try plan(dolbyVision(base: 0)) }
        #expect(transcoding(try plan(dolbyVision(base: 4))).video == 0)
    }
}

@Suite("The progress of ffmpeg")
struct ProgressReaderTests {
    @Test func `lines may come in any pieces, and the part never shrinks`() {
        let parts = Parts()
        let reader = ProgressReader(duration: 10) { parts.append($0) }
        let text =
            "frame=1\nout_time_us=N/A\nout_time_us=2500000\nout_time_us=1000000\nout_time_us=99000000\nprogress=end\n"
        for byte in text.utf8 { reader.read([byte]) }
        #expect(parts.all == [0.25, 1])
    }
}

private final class Parts: Sendable {
    private let parts = Mutex<[Double]>([])
    var all: [Double] { parts.withLock { $0 } }
    func append(_ part: Double) { parts.withLock { $0.append(part) } }
}

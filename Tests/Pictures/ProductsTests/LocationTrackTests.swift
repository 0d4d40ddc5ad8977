import Foundation
import MediaTestSupport
import MediaTools
import Products
import TestSupport
import Testing

/// Tracks and attachments that the remover can't search, so that it refuses the video.
@Suite(.enabled(if: LocationFiles.canBeMade, "needs exiftool and ffmpeg"), .serialized) struct LocationTrackTests {
    /// Makes a video with subtitles.
    private func subtitles(_ options: String, _ name: String, _ files: LocationFiles) async throws {
        try await files.base("plain.mp4")
        let text = try files.media.write("1\n00:00:00,000 --> 00:00:00,500\nHello\n\n".utf8, "text.srt")
        try await files.media.make("-i \(files.path("plain.mp4")) -i \(text) -map 0 -map 1 -c copy \(options) \(name)")
    }

    @Test func telemetryInFragmentsIsRemoved() async throws {
        let files = try LocationFiles()
        let text = "-c:s mov_text -movflags frag_keyframe+empty_moov"
        try await subtitles(text, "fragments.mp4", files)
        let stage = try RemoverStage()
        #expect(try await StepRun(stage.remover, on: files.path("fragments.mp4")).outcome == .unchanged)
        try files.replace("Hello", by: "GPS:4", in: "fragments.mp4")
        let product = try #require(try await StepRun(stage.remover, on: files.path("fragments.mp4")).product)
        #expect(product.range(of: Data("GPS:4".utf8)) == nil)
        _ = try files.media.write(product, "product.mp4")
        #expect(try await files.essence(of: "fragments.mp4") == files.essence(of: "product.mp4"))
    }

    @Test(arguments: ["-c:s mov_text -movflags frag_keyframe+empty_moov long.mp4", "long.mkv"])
    func subtitlesTooLongToBeSearchedAreRefused(_ output: String) async throws {
        let files = try LocationFiles()
        try await files.base("plain.mp4")
        let line = String(repeating: "abcdefghi\n", count: 6000)
        // A text of MP4 has 64 KiB at most; many make one run of a fragment.
        let times = output.hasSuffix("mkv") ? [0] : Array(0..<20)
        let texts = times.map { time in
            let text = times.count == 1 ? String(repeating: line, count: 20) : line
            return "\(time)\n00:00:00,\(100 + time) --> 00:00:00,\(101 + time)\n\(text)\n"
        }
        let text = try files.media.write(texts.joined(separator: "\n").utf8, "text.srt")
        let name = output.split(separator: " ").last.map(String.init) ?? ""
        try await files.media.make("-i \(files.path("plain.mp4")) -i \(text) -map 0:v -map 1 -c copy \(output)")
        let stage = try RemoverStage()
        let reason = try await stage.refusal(of: files.path(name))
        #expect(reason?.contains("too long") == true, "\(reason ?? "")")
    }

    @Test func compressedSubtitlesOfMatroskaAreRefused() async throws {
        let files = try LocationFiles()
        try await subtitles("-c:s srt", "text.mkv", files)
        let stage = try RemoverStage()
        #expect(try await stage.refusal(of: files.path("text.mkv")) == nil)
        // ContentEncodings in place of the language.
        let language = Data([0x22, 0xB5, 0x9C, 0x83]) + Data("und".utf8)
        try files.replace(language, by: Data([0x6D, 0x80, 0x84, 0, 0, 0, 0]), in: "text.mkv")
        let reason = try await stage.refusal(of: files.path("text.mkv"))
        #expect(reason?.contains("compressed or encrypted") == true, "\(reason ?? "")")
    }

    @Test(arguments: [
        ("48.137154, 11.576124", false), ("PK\u{3}\u{4}", false), ("\0\u{1}\0\0\0 a font", true),
        ("GIF89a\u{1}\0\u{1}\0\0\0\0;", true), ("GIF89a", false),
    ])
    func onlyPicturesAndFontsMayBeAttached(_ start: String, _ isAllowed: Bool) async throws {
        let files = try LocationFiles()
        try await files.base("plain.mp4")
        let file = try files.media.write((start + String(repeating: "x", count: 100)).utf8, "file.bin")
        try await files.media.make(
            "-i \(files.path("plain.mp4")) -c copy -attach \(file) -metadata:s:t mimetype=application/octet-stream "
                + "attached.mkv")
        let reason = try await RemoverStage().refusal(of: files.path("attached.mkv"))
        #expect((reason == nil) == isAllowed, "\(reason ?? "")")
        if !isAllowed { #expect(reason?.contains("attached file") == true) }
    }

    @Test(arguments: ["frames.mov", "frames.mp4", "frames.mkv", "frames.avi"])
    func commentsInFramesOfJPEGAreRemoved(_ name: String) async throws {
        let files = try LocationFiles()
        try await files.media.make("-f lavfi -i testsrc=size=96x64:rate=10 -t 1 -pix_fmt yuvj420p -c:v mjpeg \(name)")
        // ffmpeg names itself in each frame.
        let comment = Data([0xFF, 0xFE, 0, 16]) + Data("Lavc".utf8)
        var data = try files.bytes(name)
        try #require(data.range(of: comment) != nil)
        while let found = data.range(of: comment) {
            data.replaceSubrange((found.upperBound - 4)..<(found.upperBound + 9), with: Data("lat=48.137500".utf8))
        }
        _ = try files.media.write(data, name)
        let stage = try RemoverStage()
        let product = try #require(try await StepRun(stage.remover, on: files.path(name)).product)
        #expect(product.range(of: Data("48.1375".utf8)) == nil)
        let copy = "product-\(name)"
        _ = try files.media.write(product, copy)
        #expect(try await files.frames(of: name) == files.frames(of: copy))
    }

    /// An upload that ended early lacks the description at its end; a changed byte hides it.
    @Test(arguments: [true, false]) func videosWithoutDescriptionAreRefused(isCut: Bool) async throws {
        let files = try LocationFiles()
        try await files.media.make("-f lavfi -i testsrc=size=320x240 -t 1 -c:v libx264 -pix_fmt yuv420p whole.mp4")
        let whole = try files.bytes("whole.mp4")
        let start = try #require(whole.range(of: Data("moov".utf8), options: .backwards)?.lowerBound)
        var broken = whole
        if isCut { broken = whole.prefix(start - 4) } else { broken[start] = 0x78 }
        _ = try files.media.write(broken, "broken.mp4")
        let reason = try await RemoverStage().refusal(of: files.path("broken.mp4"))
        #expect(reason?.contains("damaged") == true, "\(reason ?? "")")
    }

    /// QuickTime gives old sound a size of one byte a sample, which is not always true.
    @Test func samplesOfRemovedTracksBetweenThoseOfSoundAreCleared() async throws {
        let files = try LocationFiles()
        let text = try files.media.write(
            "1\n00:00:00,000 --> 00:00:00,900\nlat: 48.1370 lon: 11.5750\n\n".utf8, "text.srt")
        try await files.media.make(
            "-f lavfi -i testsrc=size=96x64:rate=10 -f lavfi -i sine=sample_rate=8000 -i \(text) -t 2 -c:v libx264 "
                + "-pix_fmt yuv420p -c:a pcm_mulaw -c:s mov_text sound.mov")
        try #require(try files.bytes("sound.mov").range(of: Data("48.1370".utf8)) != nil)
        let product = try #require(try await StepRun(try RemoverStage().remover, on: files.path("sound.mov")).product)
        #expect(product.range(of: Data("48.1370".utf8)) == nil)
    }

    @Test func commentInACoverIsRemovedAndTheCoverStays() async throws {
        let files = try LocationFiles()
        try await files.base("plain.mp4")
        try await files.base("picture.jpg")
        try await files.tag("picture.jpg", ["-Comment=near the church"])
        try await files.media.make(
            "-i \(files.path("plain.mp4")) -i \(files.path("picture.jpg")) -map 0 -map 1 -c copy "
                + "-disposition:v:1 attached_pic cover.mp4")
        let product = try #require(try await StepRun(try RemoverStage().remover, on: files.path("cover.mp4")).product)
        #expect(product.range(of: Data("near the church".utf8)) == nil)
        #expect(product.range(of: Data("covr".utf8)) != nil && product.range(of: Data([0xFF, 0xD8, 0xFF])) != nil)
    }

    @Test func pictureUnderAnotherNameIsNeverRemoved() async throws {
        let files = try LocationFiles()
        try await files.base("plain.mp4")
        try files.replace("vide", by: "meta", in: "plain.mp4")
        let reason = try await RemoverStage().refusal(of: files.path("plain.mp4"))
        #expect(reason?.contains("name of another kind") == true, "\(reason ?? "")")
    }

    /// A block of a dash cam (`freeGPS`) reaches into what follows.
    @Test(arguments: ["into the samples", "into the description"])
    func picturesAndSoundAreNeverOverwritten(_ way: String) async throws {
        let files = try LocationFiles()
        try await files.base("plain.mp4")
        var data = try files.bytes("plain.mp4")
        if way == "into the samples" {
            let block = Data([0, 0, 1, 0]) + Data("freeGPS $GPRMC,120000,A,4808.2500,N,01134.5300,E\n".utf8)
            let samples = try #require(data.range(of: Data("mdat".utf8))).upperBound
            data.replaceSubrange(samples..<(samples + block.count), with: block)
        } else {
            // The block begins in 24 unused bytes at the end of `mvhd`, and ends within the first track.
            let end = try #require(data.range(of: Data("mvhd".utf8))).upperBound + 100
            data.replaceSubrange((end - 28)..<(end - 16), with: Data([0, 0, 0, 0x60]) + Data("freeGPS ".utf8))
        }
        let path = try files.media.write(data, "dash.mp4")
        let reason = try await RemoverStage().refusal(of: path)
        #expect(
            ["track of pictures or sound", "belongs to no track"].contains { reason?.contains($0) == true },
            "\(reason ?? "")")
    }

    @Test func picturesStayThatAreSamplesOfSensorsToo() async throws {
        let files = try LocationFiles()
        try await subtitles("-c:s mov_text", "sensors.mp4", files)
        try files.replace("tx3g", by: "gpmd", in: "sensors.mp4")
        try files.replace("sbtl", by: "meta", in: "sensors.mp4")
        var data = try files.bytes("sensors.mp4")
        // The last table of chunks is that of the subtitles, the first that of the pictures.
        let first = try #require(data.range(of: Data("stco".utf8))).upperBound + 8
        let last = try #require(data.range(of: Data("stco".utf8), options: .backwards)).upperBound + 8
        data.replaceSubrange(last..<(last + 4), with: data[first..<(first + 4)])
        let path = try files.media.write(data, "crafted.mp4")
        let product = try #require(try await StepRun(RemoverStage().remover, on: path).product)
        #expect(product.range(of: Data("gpmd".utf8)) == nil)
        _ = try files.media.write(product, "product.mp4")
        #expect(try await files.essence(of: "plain.mp4") == files.essence(of: "product.mp4"))
    }

    @Test func handlerOfTheDataSaysNothing() async throws {
        let files = try LocationFiles()
        try await subtitles("-c:s mov_text", "sensors.mov", files)
        try files.replace("tx3g", by: "gpmd", in: "sensors.mov")
        for kind in ["sbtl", "text"] { try files.replace("mhlr" + kind, by: "mhlrmeta", in: "sensors.mov") }
        // The handler within `minf` of the last track.
        var data = try files.bytes("sensors.mov")
        let range = try #require(data.range(of: Data("dhlrurl ".utf8), options: .backwards))
        data.replaceSubrange(range, with: Data("mhlrvide".utf8))
        let path = try files.media.write(data, "sensors.mov")
        let product = try await StepRun(RemoverStage().remover, on: path).product
        #expect(product?.range(of: Data("Hello".utf8)) == nil)
        #expect(product != nil)
    }

    @Test func dataInSubtitlesIsRemovedOrRefused() async throws {
        let files = try LocationFiles()
        let stage = try RemoverStage()
        let data = Data([0x10, 0x40, 0, 1, 0xFF])
        try await subtitles("-c:s mov_text", "data.mp4", files)
        try files.replace(Data("Hello".utf8), by: data, in: "data.mp4")
        let product = try #require(try await StepRun(stage.remover, on: files.path("data.mp4")).product)
        #expect(product.range(of: data) == nil)
        try await subtitles("-c:s srt", "data.mkv", files)
        #expect(try await stage.refusal(of: files.path("data.mkv")) == nil)
        try files.replace(Data("Hello".utf8), by: data, in: "data.mkv")
        #expect(try await stage.refusal(of: files.path("data.mkv")) == "its subtitles contain data")
    }

    /// The frames of MPEG-4 and MPEG-2 have no message of a coder between them.
    @Test(arguments: [
        "mpeg4 a.mp4", "mpeg4 a.mkv", "mpeg4 a.avi", "mpeg2video a.mkv", "mpeg2video a.mov", "mpeg2video a.mpg",
    ])
    func dataOfUsersInFramesIsRemoved(_ output: String) async throws {
        let files = try LocationFiles()
        let name = String(output.split(separator: " ")[1])
        try await files.media.make("-f lavfi -i testsrc=size=96x64:rate=25 -t 1 -bf 0 -c:v \(output)")
        var data = try files.bytes(name)
        // Before a frame of MPEG-4 comes the name of the coder; MPEG-2 gets data in place of a slice.
        let mark = Data([0, 0, 1, 0xB2])
        if output.hasPrefix("mpeg4") {
            let start = try #require(data.range(of: mark + Data("Lavc".utf8))).upperBound
            data.replaceSubrange((start - 4)..<(start + 4), with: Data("48.1375 ".utf8))
        } else {
            let slice = try #require(data.range(of: Data([0, 0, 1, 2])))
            data.replaceSubrange(slice.lowerBound..<(slice.lowerBound + 12), with: mark + Data("48.1375 ".utf8))
        }
        _ = try files.media.write(data, name)
        let product = try #require(try await StepRun(try RemoverStage().remover, on: files.path(name)).product)
        #expect(LocationFiles.position(in: product) == nil && product.range(of: mark + Data("        ".utf8)) != nil)
    }
}

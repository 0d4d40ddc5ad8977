import Foundation
import MediaTestSupport
import Products
import TestSupport
import Testing
import UploadCore

/// Sound that a QuickTime file can't carry as it is.
@Suite(.enabled(if: LocationFiles.canBeMade, "needs exiftool and ffmpeg"), .serialized) struct SoundRebuildTests {
    private func file(_ name: String, _ options: String, _ files: LocationFiles) async throws -> String {
        try await files.media.make(
            "-f lavfi -i testsrc=size=96x64:rate=10 -f lavfi -i sine=sample_rate=48000 -t 1 -c:v mpeg4 \(options) \(name)"
        )
    }

    @Test(arguments: [
        ("a.avi", "-c:a flac -sample_fmt s32 -bits_per_raw_sample 24 -strict -2", "pcm_s24le"),
        ("a.avi", "-c:a flac -sample_fmt s16", "pcm_s16le"), ("a.avi", "-c:a adpcm_ms", "pcm_s16le"),
    ])
    func decodedSoundKeepsAllItsBits(_ name: String, _ options: String, _ codec: String) async throws {
        let files = try LocationFiles()
        let path = try await file(name, options, files)
        let stage = try RemoverStage()
        let product = try #require(try await StepRun(stage.remover, on: path).product)
        let made = try files.media.write(product, "product.mov")
        #expect(try await files.media.probe(made, "stream=codec_name").contains("codec_name=\(codec)"))
        func samples(_ path: String) async throws -> String {
            try await files.media.make("-i \(path) -map 0:a -c:a pcm_s32le -f hash samples")
            return files.media.directory.text("samples")
        }
        #expect(try await samples(path) == samples(made))
    }

    /// These containers announce no tracks, and ffmpeg looks for them at the beginning alone unless told otherwise.
    @Test(arguments: [("late.mpg", "-c:v mpeg2video -c:a mp2"), ("late.flv", "-c:v flv -ar 44100 -c:a mp3")])
    func soundThatBeginsLateIsKept(_ name: String, _ codecs: String) async throws {
        let files = try LocationFiles()
        let path = try await files.media.make(
            "-f lavfi -i testsrc=size=96x64:rate=25:duration=14 -itsoffset 10 -f lavfi -i sine=duration=3:sample_rate=44100 "
                + "\(codecs) -muxdelay 0 \(name)")
        let stage = try RemoverStage()
        let product = try #require(try await StepRun(stage.remover, on: path).product)
        let made = try files.media.write(product, "product.mov")
        #expect(try await files.media.probe(made, "stream=codec_type").contains("codec_type=audio"))
    }

    @Test func soundThatDecodingWouldRoundIsRefused() async throws {
        let files = try LocationFiles()
        let path = try await file("a.avi", "-c:a dca -strict -2", files)
        let stage = try RemoverStage()
        #expect(try await stage.refusal(of: path) == "sound of the codec dts can't be copied without a loss")
    }
}

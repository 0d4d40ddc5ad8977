import LinuxSystem
import MediaTools
import Processes
import UploadCore

/// Copies the pictures and the sound of a video to a new file, with ffmpeg, and nothing else.
struct VideoRebuild {
    let input: ProductInput
    let output: SharedDescriptor
    let tools: VideoTools
    let removal: Recipe.Removal

    /// Whether removing in place is not enough. Nothing here can search AVI, FLV and MPEG, so they become QuickTime files.
    var isNeeded: Bool { removal != .positions || Self.formats[input.type.mime] == nil }

    /// The muxers for the types that stay.
    private static let formats = [
        "video/mp4": "mp4", "video/x-m4v": "mp4", "video/quicktime": "mov", "video/3gpp": "3gp", "video/3gpp2": "3g2",
        "video/x-matroska": "matroska", "video/webm": "webm",
    ]

    /// Writes the output.
    ///
    /// - Returns: The output, to be searched further.
    func run() async throws(ProductFailure) -> ProductInput {
        guard let container = VideoContainer(input.type), let program = tools.converter, tools.prober != nil else {
            throw .missing("ffmpeg is not installed")
        }
        let duration = try await facts(of: input.file, input.type).duration
        let format = Self.formats[input.type.mime]
        let keepsDate = removal != .metadata(keepsDates: false)
        let report = try await report(of: input.file, input.type)
        let sound = format == nil ? try Self.sound(of: report) : []
        let times = format == nil ? try times(of: report) : []
        let arguments = arguments(
            container, times: times, format: format ?? "mov", created: keepsDate ? Self.created(in: report) : nil,
            sound: sound)
        do throws(ToolFailure) {
            _ = try await ToolRun.run(
                program, arguments, input: input.file, files: [output],
                limits: limits(room: sound.isEmpty ? 0 : Self.decodedSound(of: duration)),
                confinement: Confinement(program: program, readable: [input.file], writable: [output]),
                within: .seconds(600 + Int(input.size / 100_000)))
        } catch {
            if case .ended = error, output.isOutOfSpace { throw .noSpace }
            throw ProductFailure(VideoFailure(error, of: program))
        }
        var type = input.type
        if format == nil { type = MediaType(kind: .video, mime: "video/quicktime") }
        if type.mime == "video/x-m4v" { type = MediaType(kind: .video, mime: "video/mp4") }
        // ffmpeg also succeeds with half a video.
        let made = try await facts(of: output, type).duration
        if let duration, (made ?? 0) < 0.97 * duration - 1 {
            throw .refused("only a part of the video could be copied")
        }
        if format != nil, try await Self.view(in: report) != Self.view(in: self.report(of: output, type)) {
            throw .refused("ffmpeg keeps not all tracks of the video, or not their turn or projection")
        }
        return ProductInput(file: output, type: type, size: try output.productSize)
    }

    private static let dataOfView: Set = ["Display Matrix", "Spherical Mapping", "Stereo 3D"]

    /// Returns how the tracks of pictures are to be shown: their turn, projection and eyes.
    private static func view(in report: ProbeReport) -> [[String]] {
        let pictures = (report.streams ?? []).filter {
            $0.kind == "video" && $0.disposition?["attached_pic"] != 1
        }
        return pictures.map { track in
            let shown = (track.sideDataList ?? []).filter { dataOfView.contains($0.type ?? "") }
            return shown.map { "\($0.type ?? "") \($0.rotation.map { "\($0)" } ?? "")" }.sorted()
        }
    }

    /// The codecs of sound that QuickTime files carry, as programs that play them expect.
    private static let soundOfQuickTime: Set = [
        "aac", "ac3", "adpcm_ima_qt", "alac", "amr_nb", "amr_wb", "eac3", "mp1", "mp2", "mp3", "pcm_alaw", "pcm_f32be",
        "pcm_f32le", "pcm_mulaw", "pcm_s16be", "pcm_s16le", "pcm_s24be", "pcm_s24le", "pcm_s32be", "pcm_s32le",
        "pcm_s8", "pcm_u8", "qdm2",
    ]

    /// Returns options that decode the sound that a QuickTime file can't carry.
    ///
    /// - Throws: `refused` if the decoded sound would not be exactly the same.
    private static func sound(of report: ProbeReport) throws(ProductFailure) -> [String] {
        var options: [String] = []
        for (index, track) in (report.streams ?? []).filter({ $0.kind == "audio" }).enumerated() {
            let codec = track.codec ?? "unknown"
            if soundOfQuickTime.contains(codec) { continue }
            guard let samples = exactSamples(of: track) else {
                throw .refused("sound of the codec \(codec) can't be copied without a loss")
            }
            options += ["-c:a:\(index)", samples]
        }
        return options
    }

    /// Returns the uncompressed codec that holds exactly what the decoder of a track gives; nil if the decoder computes with
    /// fractions, so that its samples would be rounded.
    static func exactSamples(of track: ProbeReport.Stream) -> String? {
        switch track.sampleFormat {
        case "u8", "u8p", "s16", "s16p": "pcm_s16le"
        case "s32", "s32p": (1...24).contains(Int(track.bitsOfSample ?? "") ?? 0) ? "pcm_s24le" : "pcm_s32le"
        case "dbl" where track.codec?.hasPrefix("pcm_") == true: "pcm_f64le"
        default: nil
        }
    }

    /// Returns options that find the times of frames that are shown in another order than they are coded. AVI has no times,
    /// MPEG-PS few. ffmpeg finds those of codecs that move one frame, such as MPEG-4.
    private func times(of report: ProbeReport) throws(ProductFailure) -> [String] {
        let reordered = (report.streams ?? []).filter { ($0.reorderedFrames ?? 0) > 0 }.map(\.codec)
        guard reordered.contains(where: { ["h264", "hevc", "vvc"].contains($0) }) else {
            return reordered.isEmpty ? [] : ["-fflags", "+genpts"]
        }
        if input.type.mime == "video/x-msvideo" {
            throw .refused("the frames of an AVI file with H.264 and B-frames have no times")
        }
        return []
    }

    private func arguments(
        _ container: VideoContainer, times: [String], format: String, created: String?, sound: [String]
    ) -> [String] {
        var arguments = VideoTools.quiet + ["-nostdin", "-y"] + container.conversionOptions(threads: 1)
        arguments +=
            times + ["-i", VideoTools.input, "-map", "0:V", "-map", "0:a?", "-c", "copy"] + sound + [
                "-map_metadata", "-1",
            ]
        // ffmpeg 5 counts FLAC in MP4 as experimental.
        arguments += ["-map_chapters", "-1", "-fflags", "+bitexact", "-strict", "experimental"]
        if let created { arguments += ["-metadata", "creation_time=\(created)"] }
        return arguments + ["-f", format, "file:/proc/self/fd/3"]
    }

    /// The bytes of decoded sound: eight channels of 48 kHz and 32 bits, for an hour where the duration is unknown.
    private static func decodedSound(of duration: Double?) -> UInt64 {
        UInt64(min(max(duration ?? 3600, 0), 100_000)) * 1_536_000
    }

    private func limits(room: UInt64) -> ProcessLimits {
        ProcessLimits(
            processorSeconds: 600 + input.size / 1_000_000, addressSpace: 2 << 30,
            fileSize: input.size + input.size / 10 + (1 << 20) + room, niceness: 19)
    }

    /// When the video was taken.
    private static func created(in report: ProbeReport) -> String? {
        let date = report.format?.tags?["creation_time"]
        return date.flatMap { $0.count < 40 && $0.allSatisfy { "0123456789-:.TZ ".contains($0) } ? $0 : nil }
    }

    private func report(of file: SharedDescriptor, _ type: MediaType) async throws(ProductFailure) -> ProbeReport {
        do throws(VideoFailure) {
            return try await tools.report(of: file, type: type)
        } catch {
            throw ProductFailure(error)
        }
    }

    private func facts(of file: SharedDescriptor, _ type: MediaType) async throws(ProductFailure) -> VideoFacts {
        do throws(VideoFailure) {
            return try await tools.facts(of: file, type: type)
        } catch {
            throw ProductFailure(error)
        }
    }
}

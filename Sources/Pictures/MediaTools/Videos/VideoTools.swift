import Glibc
public import LinuxSystem
package import Processes
public import UploadCore

/// The system's ffprobe and ffmpeg: ffprobe examines a video, ffmpeg extracts a picture.
///
/// Both receive the video as an open file and no other file. The container is fixed to the type of the first bytes.
/// Other protocols, containers and rare codecs are refused. Both run under limits (see ``ProcessLimits``) and in a
/// ``Confinement``.
public struct VideoTools: Sendable {
    /// Absolute path of ffprobe; nil if missing.
    public let prober: String?
    /// Absolute path of ffmpeg; nil if missing.
    public let converter: String?

    /// Creates a value for these programs.
    public init(prober: String?, converter: String?) {
        self.prober = prober
        self.converter = converter
    }

    /// A line for display about a missing program, with advice; nil if both exist.
    public var missing: String? {
        if prober == nil {
            return "videos get no size, duration and thumbnail: ffprobe is not in the PATH; install ffmpeg"
        }
        return converter == nil ? "videos get no thumbnail: ffmpeg is not in the PATH; install ffmpeg" : nil
    }

    /// Searches for the programs.
    ///
    /// - Parameter path: Directories separated by colons, as in `PATH`; nil: the usual directories. Relative ones are
    ///   ignored.
    public static func find(in path: String?) -> VideoTools {
        let directories = (path ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").filter { $0.hasPrefix("/") }
        func find(_ name: String) -> String? {
            directories.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
        }
        return VideoTools(prober: find("ffprobe"), converter: find("ffmpeg"))
    }

    /// Whether videos of this type are supported.
    public static func takes(_ type: MediaType) -> Bool { VideoContainer(type) != nil }

    /// Reads the properties of a video.
    ///
    /// - Parameters:
    ///   - video: Open for reading; its offset is not used.
    ///   - type: The type detected from the first bytes.
    /// - Throws: ``VideoFailure``.
    public func facts(of video: SharedDescriptor, type: MediaType) async throws(VideoFailure) -> VideoFacts {
        let entries =
            "stream=width,height,sample_aspect_ratio,duration:stream_tags=rotate:stream_side_data=rotation"
            + ":format=duration"
        return try ProbeReport.facts(
            in: await probe(video, type, ["-select_streams", "V:0", "-show_entries", entries]))
    }

    /// Reads what decides how a video can be converted: its tracks and tags.
    ///
    /// - Throws: ``VideoFailure``.
    package func report(of video: SharedDescriptor, type: MediaType) async throws(VideoFailure) -> ProbeReport {
        let entries = [
            "stream=index,codec_type,codec_name,codec_tag_string,pix_fmt,width,height,sample_aspect_ratio,field_order"
                + ",has_b_frames,color_transfer,color_space,avg_frame_rate,bit_rate,channels,duration"
                + ",sample_fmt,bits_per_raw_sample",
            "stream_disposition=default,attached_pic", "stream_tags=rotate,alpha_mode,stereo_mode,spherical-video",
            "stream_side_data=side_data_type,type,rotation,dv_bl_signal_compatibility_id", "format=duration,bit_rate",
            "format_tags=creation_time,location,com.apple.quicktime.location.ISO6709",
            "frame_side_data=side_data_type,type",
        ]
        // Sound may come first.
        let wishes = ["-read_intervals", "%+#16", "-show_entries", entries.joined(separator: ":")]
        return try ProbeReport(await probe(video, type, wishes))
    }

    private func probe(
        _ video: SharedDescriptor, _ type: MediaType, _ wishes: [String]
    ) async throws(VideoFailure) -> [UInt8] {
        guard let container = VideoContainer(type) else {
            throw .refused("\(type.mime) is not a supported type of video")
        }
        guard let prober else { throw .missing("ffprobe is not installed") }
        let arguments =
            Self.quiet + container.inputOptions(maximumPixels: Self.maximumPixels) + wishes + [
                "-print_format", "json=compact=1", "-i", Self.input,
            ]
        return try await run(prober, arguments, on: video, into: nil, VideoLimits.probing)
    }

    /// Writes one picture of a video as PNG, upright, with square pixels and no side over 640.
    ///
    /// - Parameters:
    ///   - video: Open for reading; its offset is not used.
    ///   - type: The type detected from the first bytes.
    ///   - duration: Duration in seconds, if known. The picture is taken at a tenth of it, but at 60 s at the latest.
    ///   - output: An empty file, open for reading and writing.
    /// - Throws: ``VideoFailure``, also if nothing was written.
    public func frame(
        of video: SharedDescriptor, type: MediaType, duration: Double?, into output: SharedDescriptor
    ) async throws(VideoFailure) {
        guard let container = VideoContainer(type) else {
            throw .refused("\(type.mime) is not a supported type of video")
        }
        guard let converter else { throw .missing("ffmpeg is not installed") }
        // The first picture is often black, so try a later one. If that fails, use the first: an index may be wrong or
        // missing.
        let moment = min((duration ?? 0) / 10, 60)
        var failure: VideoFailure?
        for moment in moment > 0 ? [moment, 0] : [0] {
            do {
                let arguments = Self.quiet + ["-nostdin"] + container.frameOptions(at: moment)
                _ = try await run(converter, arguments, on: video, into: output, VideoLimits.converting)
                if try Self.isWritten(output) {
                    try await nameColours(of: video, type, in: output)
                    return
                }
                failure = .refused("the video has no picture")
            } catch {
                if !error.isFinal { throw error }
                failure = error
                try Self.empty(output)
            }
        }
        throw failure ?? .refused("the video has no picture")
    }

    /// Says in a frame that its numbers are of high dynamic range, where the video says so: ffmpeg does not.
    private func nameColours(
        of video: SharedDescriptor, _ type: MediaType, in output: SharedDescriptor
    ) async throws(VideoFailure) {
        do {
            // Only deep pictures can be of high dynamic range. The depth is in the header (PNG specification, 11.2.1).
            guard try Self.bytes(of: output, at: 24, count: 1) == [16] else { return }
            let wishes = ["-select_streams", "V:0", "-show_entries", "stream=color_transfer"]
            let report = try ProbeReport(await probe(video, type, wishes))
            guard let transfer = report.streams?.first?.highDynamicRange else { return }
            let size = try FileStatus(of: output.rawValue).size
            let frame = try Self.bytes(of: output, at: 0, count: Int(clamping: size))
            try Self.empty(output)
            try writeAll(CodingPoints(transfer).added(to: frame), to: output.rawValue)
        } catch let failure as VideoFailure {
            throw failure
        } catch {
            throw .failed("cannot write a frame of the video: \(error)")
        }
    }

    /// Maximum pixels of a video to decode: 8K has 33 million.
    package static let maximumPixels = 40_000_000
    package static let quiet = ["-hide_banner", "-loglevel", "error"]
    /// The video file, reopened: ffmpeg can't seek in a pipe.
    package static let input = "file:/proc/self/fd/0"

    private func run(
        _ program: String, _ arguments: [String], on video: SharedDescriptor, into output: SharedDescriptor?,
        _ limits: VideoLimits
    ) async throws(VideoFailure) -> [UInt8] {
        do throws(ToolFailure) {
            return try await ToolRun.run(
                program, arguments, input: video, output: output, limits: limits.process,
                confinement: Confinement(program: program, readable: [video]), within: limits.time)
        } catch {
            throw VideoFailure(error, of: program)
        }
    }

    private static func isWritten(_ output: SharedDescriptor) throws(VideoFailure) -> Bool {
        do {
            return try FileStatus(of: output.rawValue).size > 0
        } catch {
            throw .failed("cannot write a frame of the video: \(error)")
        }
    }

    private static func bytes(of file: SharedDescriptor, at offset: UInt64, count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
        return Array(bytes.prefix(filled))
    }

    private static func empty(_ output: SharedDescriptor) throws(VideoFailure) {
        do {
            try retryingOnInterrupt { ftruncate(output.rawValue, 0) }
            try retryingOnInterrupt { lseek(output.rawValue, 0, SEEK_SET) }
        } catch {
            throw .failed("cannot write a frame of the video: \(error)")
        }
    }
}

/// Limits of ffprobe and ffmpeg.
struct VideoLimits: Sendable {
    let process: ProcessLimits
    let time: Duration

    static let probing = VideoLimits(
        process: ProcessLimits(processorSeconds: 10, addressSpace: 1 << 30, fileSize: 1 << 16), time: .seconds(20))
    static let converting = VideoLimits(
        process: ProcessLimits(processorSeconds: 30, addressSpace: 1536 << 20, fileSize: 8 << 20), time: .seconds(60))
}

/// Properties of a video.
public struct VideoFacts: Equatable, Sendable {
    /// Displayed width in pixels: upright, with square pixels. Nil if the video has no pictures.
    public var width: Int?
    /// Displayed height in pixels.
    public var height: Int?
    /// Seconds, above 0 and at most a year; nil if missing or implausible.
    public var duration: Double?

    /// Creates facts.
    public init(width: Int?, height: Int?, duration: Double?) {
        self.width = width
        self.height = height
        self.duration = duration
    }
}

/// Why a video could not be examined.
public enum VideoFailure: Error, Equatable, Sendable {
    /// The video is at fault: damaged, or over a limit. A retry gives the same answer.
    case refused(String)
    /// The program is missing.
    case missing(String)
    /// Not the video's fault; a retry may succeed.
    case failed(String)
    /// The task was cancelled.
    case cancelled

    /// Whether a retry would give the same answer.
    public var isFinal: Bool {
        if case .refused = self { true } else { false }
    }

    package init(_ failure: ToolFailure, of program: String) {
        let name = program.split(separator: "/").last ?? ""
        switch failure {
        case .ended(.exited(127), let line), .ended(.exited(255), let line), .ended(.killed(SIGTERM), let line):
            // A library is missing, or the system shuts down, where ffmpeg exits with 255.
            self = .failed("\(name) failed: \(line)")
        case .ended(let ending, let line):
            self = .refused("\(name) ended with \(ending)" + (line.isEmpty ? "" : ": \(line)"))
        case .killed(let reason): self = .refused(reason)
        case .notStarted(let failure): self = .failed(failure.description)
        case .cancelled: self = .cancelled
        }
    }
}

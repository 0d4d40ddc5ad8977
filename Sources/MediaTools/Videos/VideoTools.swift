import Glibc
public import LinuxSystem
public import UploadCore

/// ffprobe and ffmpeg as the system has them: one tells what a video is, the other takes a picture out of it.
///
/// A video reaches them as an open file and nothing else does: the container is forced to be what its first bytes said,
/// other protocols, containers and rare codecs are refused, and they run under limits (see ``ProcessLimits``) and in a
/// ``Confinement``.
public struct VideoTools: Sendable {
    /// Absolute path of ffprobe, nil where there is none.
    public let prober: String?
    /// Absolute path of ffmpeg, nil where there is none.
    public let converter: String?

    /// Names the programs.
    public init(prober: String?, converter: String?) {
        self.prober = prober
        self.converter = converter
    }

    /// One line for people about what is missing, and what to do; nil where all is there.
    public var missing: String? {
        if prober == nil {
            return "videos get no size, duration and thumbnail: ffprobe is not in the PATH; install ffmpeg"
        }
        return converter == nil ? "videos get no thumbnail: ffmpeg is not in the PATH; install ffmpeg" : nil
    }

    /// Looks for the programs.
    ///
    /// - Parameter path: directories between colons, as in `PATH`; nil: where systems keep them. Relative ones are
    ///   passed over.
    public static func find(in path: String?) -> VideoTools {
        let directories = (path ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").filter { $0.hasPrefix("/") }
        func find(_ name: String) -> String? {
            directories.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
        }
        return VideoTools(prober: find("ffprobe"), converter: find("ffmpeg"))
    }

    /// Whether videos of this type are looked at.
    public static func takes(_ type: MediaType) -> Bool { VideoContainer(type) != nil }

    /// What a video says about itself.
    ///
    /// - Parameters:
    ///   - video: open for reading; its offset is not used.
    ///   - type: as its first bytes tell.
    /// - Throws: ``VideoFailure``.
    public func facts(of video: SharedDescriptor, type: MediaType) async throws(VideoFailure) -> VideoFacts {
        guard let container = VideoContainer(type) else { throw .refused("\(type.mime) is no video that is looked at") }
        guard let prober else { throw .missing("ffprobe is not installed") }
        let arguments =
            Self.quiet + container.inputOptions(maximumPixels: Self.maximumPixels) + [
                "-select_streams", "V:0",
                "-show_entries",
                "stream=width,height,sample_aspect_ratio,duration:stream_tags=rotate:stream_side_data=rotation"
                    + ":format=duration",
                "-print_format", "json=compact=1", "-i", Self.input,
            ]
        let output = try await run(prober, arguments, on: video, into: nil, VideoLimits.probing)
        return try ProbeReport.facts(in: output)
    }

    /// Writes one picture out of a video, upright, with square pixels and no side over 640, as PNG.
    ///
    /// - Parameters:
    ///   - video: open for reading; its offset is not used.
    ///   - type: as its first bytes tell.
    ///   - duration: its length in seconds as far as known; the picture is taken a tenth into it.
    ///   - output: an empty file, open for reading and writing.
    /// - Throws: ``VideoFailure``, also where nothing was written.
    public func frame(
        of video: SharedDescriptor, type: MediaType, duration: Double?, into output: SharedDescriptor
    ) async throws(VideoFailure) {
        guard let container = VideoContainer(type) else { throw .refused("\(type.mime) is no video that is looked at") }
        guard let converter else { throw .missing("ffmpeg is not installed") }
        // The first picture is black more often than not. Where nothing can be had there, the first one has to do: an
        // index may lie, or be missing.
        let moment = min((duration ?? 0) / 10, 60)
        var failure: VideoFailure?
        for moment in moment > 0 ? [moment, 0] : [0] {
            do {
                let arguments = Self.quiet + ["-nostdin"] + container.frameOptions(at: moment)
                _ = try await run(converter, arguments, on: video, into: output, VideoLimits.converting)
                if try Self.isWritten(output) { return }
                failure = .refused("there is no picture in it")
            } catch {
                if !error.isFinal { throw error }
                failure = error
                try Self.empty(output)
            }
        }
        throw failure ?? .refused("there is no picture in it")
    }

    /// Videos with more pixels are not decoded: 8K is 33 million.
    static let maximumPixels = 40_000_000
    private static let quiet = ["-hide_banner", "-loglevel", "error"]
    /// The video itself, opened anew: a pipe could not be sought in.
    static let input = "file:/proc/self/fd/0"

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
            throw .failed("the picture of a video: \(error)")
        }
    }

    private static func empty(_ output: SharedDescriptor) throws(VideoFailure) {
        do {
            try retryingOnInterrupt { ftruncate(output.rawValue, 0) }
            try retryingOnInterrupt { lseek(output.rawValue, 0, SEEK_SET) }
        } catch {
            throw .failed("the picture of a video: \(error)")
        }
    }
}

/// What ffprobe and ffmpeg may use.
struct VideoLimits: Sendable {
    let process: ProcessLimits
    let time: Duration

    static let probing = VideoLimits(
        process: ProcessLimits(processorSeconds: 10, addressSpace: 1 << 30, fileSize: 1 << 16), time: .seconds(20))
    static let converting = VideoLimits(
        process: ProcessLimits(processorSeconds: 30, addressSpace: 1536 << 20, fileSize: 8 << 20), time: .seconds(60))
}

/// What is known of a video.
public struct VideoFacts: Equatable, Sendable {
    /// Width in pixels as it is shown: turned upright, with square pixels. Nil where it has no pictures.
    public var width: Int?
    /// Height in pixels as it is shown.
    public var height: Int?
    /// Seconds, above 0 and at most a year; nil where it doesn't say, or says what can't be.
    public var duration: Double?

    /// Facts.
    public init(width: Int?, height: Int?, duration: Double?) {
        self.width = width
        self.height = height
        self.duration = duration
    }
}

/// Why a video told nothing.
public enum VideoFailure: Error, Equatable, Sendable {
    /// The video is to blame: it is damaged, or goes over a limit. Asking again answers the same.
    case refused(String)
    /// The program is not there.
    case missing(String)
    /// Nothing the video could help; it may work another time.
    case failed(String)
    /// The task was cancelled.
    case cancelled

    /// Whether asking again would answer the same.
    public var isFinal: Bool {
        if case .refused = self { true } else { false }
    }

    init(_ failure: ToolFailure, of program: String) {
        let name = program.split(separator: "/").last ?? ""
        switch failure {
        case .ended(.exited(127), let line), .ended(.exited(255), let line), .ended(.killed(SIGTERM), let line):
            // A library is missing; or the system goes down, which ffmpeg answers with 255.
            self = .failed("\(name) could not do its work: \(line)")
        case .ended(let ending, let line):
            self = .refused("\(name) ended with \(ending)" + (line.isEmpty ? "" : ": \(line)"))
        case .killed(let reason): self = .refused(reason)
        case .notStarted(let failure): self = .failed(failure.description)
        case .cancelled: self = .cancelled
        }
    }
}

import ArgumentParser
import Glibc
import LinuxSystem
import Logging
import MediaTools
import Products
import UploadCore

/// Measures the compression of pictures (P12) against `vips copy` in a loop. Both use libvips, do one picture at a time
/// with niceness 10, and read from the page cache.
struct PictureCompression {
    let count: Int
    let pairs: Int

    private static let quality = 85

    func run(_ workplace: Workplace) throws -> Finding {
        note("\(count) pictures of 12 megapixels as JPEG of quality \(Self.quality): outbox-media and vips copy")
        let (vips, nice) = (try Programs.find("vips"), try Programs.find("nice"))
        return try workplace.withTestFiles { directory in
            let pictures = try CameraPictures(count: count, directory: directory)
            let logger = Logger(label: "outbox-bench") { _ in SwiftLogNoOpLogHandler() }
            let worker = PictureWorker(program: workplace.programs.media, processes: 1, logger: logger)
            defer { try? blocking { await worker.shutdown() } }
            let step = PictureCompressor(worker: worker, quality: Self.quality, maximumSide: 0)
            let type = MediaType(kind: .image, mime: "image/jpeg")
            let times = try StepTimes(name: "outbox-media", rival: "vips", pairs: pairs, workplace) { room in
                for (number, path) in pictures.paths.enumerated() {
                    _ = try step.made(of: path, type, into: "\(room)/\(number).jpg", scratch: room)
                }
            } rival: { room in
                for (number, path) in pictures.paths.enumerated() {
                    let result = "\(room)/\(number).jpg[Q=\(Self.quality)]"
                    let loop = try ChildProcess(
                        nice, ["-n", "10", vips, "copy", path, result], log: "\(room)/vips.log")
                    _ = try loop.finish(within: .seconds(120))
                }
            }
            return times.finding(
                "P12", "\(count) pictures of 12 megapixels as JPEG of quality \(Self.quality), one at a time",
                against: "vips copy in.jpg out.jpg[Q=\(Self.quality)], a process for each picture",
                details: "\(Text.fixed(Double(count) / times.ours.median, 1)) pictures/s")
        }
    }
}

/// Measures the conversion of a video (P13) against ffmpeg with the same settings, as nice.
struct VideoConversion {
    let seconds: Int
    let pairs: Int

    func run(_ workplace: Workplace) throws -> Finding {
        note("a video of \(seconds) s, 1920x1080, to 854x480: the agent's step and ffmpeg")
        let (ffmpeg, nice) = (try Programs.find("ffmpeg"), try Programs.find("nice"))
        return try workplace.withTestFiles { directory in
            let video = "\(directory)/video.mp4"
            try TestVideo.make(video, seconds: seconds)
            let step = VideoTranscoder(
                tools: VideoTools.find(in: getenv("PATH").map { String(cString: $0) }), height: 480, quality: 23)
            let type = MediaType(kind: .video, mime: "video/mp4")
            let times = try StepTimes(name: "the agent's step", rival: "ffmpeg", pairs: pairs, workplace) { room in
                _ = try step.made(of: video, type, into: "\(room)/made.mp4", scratch: room)
            } rival: { room in
                let arguments = [
                    "-loglevel", "error", "-i", video, "-vf", "scale=854:480", "-c:v", "libx264", "-crf", "23",
                    "-pix_fmt", "yuv420p", "-c:a", "copy", "-movflags", "+faststart", "\(room)/made.mp4",
                ]
                let plain = try ChildProcess(nice, ["-n", "19", ffmpeg] + arguments, log: "\(room)/ffmpeg.log")
                _ = try plain.finish(within: .seconds(60 + 20 * seconds))
            }
            return times.finding(
                "P13", "a video of \(seconds) s, 1920x1080, as 854x480 in H.264",
                against: "ffmpeg with the same settings",
                details: "\(Text.fixed(Double(seconds) / times.ours.median, 1)) times as fast as it plays")
        }
    }
}

/// A video of 1920x1080 with sound and some noise, as a camera makes it.
enum TestVideo {
    static func make(_ path: String, seconds: Int, seed: Int = 1) throws {
        let source = "testsrc2=size=1920x1080:rate=30:duration=\(seconds),noise=alls=8:all_seed=\(seed):allf=t"
        let maker = try ChildProcess(
            try Programs.find("ffmpeg"),
            [
                "-loglevel", "error", "-f", "lavfi", "-i", source, "-f", "lavfi", "-i", "sine=duration=\(seconds)",
                "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac", path,
            ], log: "\(path).log")
        _ = try maker.finish(within: .seconds(60 + 20 * seconds))
    }
}

/// Two contenders taking turns.
private struct StepTimes {
    let name: String
    let rival: String
    var ours: [Double] = []
    var theirs: [Double] = []

    /// - Parameter body, other: Each does the whole work, with results in an empty directory.
    init(
        name: String, rival: String, pairs: Int, _ workplace: Workplace, _ body: (String) throws -> Void,
        rival other: (String) throws -> Void
    ) throws {
        (self.name, self.rival) = (name, rival)
        func seconds(_ room: String, _ work: (String) throws -> Void) throws -> Double {
            try workplace.withRoom(room) { room in
                let start = ContinuousClock.now
                try work(room)
                return start.secondsAgo
            }
        }
        for pair in 1...pairs {
            ours.append(try seconds("ours", body))
            theirs.append(try seconds("rival", other))
            note("  \(pair) of \(pairs)  \(Text.seconds(ours[pair - 1])), \(rival) \(Text.seconds(theirs[pair - 1]))")
        }
    }

    func finding(_ measure: String, _ what: String, against: String, details: String) -> Finding {
        .ratio(
            measure, zip(ours, theirs).map { $0 / $1 }, bar: 1.1, what: what, against: against,
            details: "\(name) \(Text.seconds(ours.median)), \(rival) \(Text.seconds(theirs.median)), \(details)",
            medians: [(name, ours.median), (rival, theirs.median)])
    }
}

extension ProductStep {
    /// Performs the step as the agent does, and fails unless it made something.
    fileprivate func made(of path: String, _ type: MediaType, into result: String, scratch: String) throws -> UInt64 {
        let file = try SharedDescriptor(opening: path, flags: O_RDONLY)
        let output = try SharedDescriptor(opening: result, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        let input = ProductInput(file: file, type: type, size: try FileStatus(of: file.rawValue).size)
        let outcome = try blocking { try await perform(on: input, into: output, scratch: scratch) { _ in } }
        guard case .made = outcome else { throw Failure("\(path): nothing was made") }
        return try FileStatus(of: output.rawValue).size
    }
}

struct ProductsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "products",
        abstract: "Compressing pictures and converting a video, against vips and ffmpeg (P12, P13).")

    @OptionGroup var options: Options
    @OptionGroup var repetition: PairOptions
    @Option(help: "How many pictures.") var count = 100
    @Option(help: "The length of the video.") var seconds = 30

    func validate() throws {
        guard count > 0, seconds > 0 else { throw ValidationError("--count and --seconds must be positive") }
    }

    func run() throws {
        try Report.run(options) { workplace, report in
            report.attempt("P12", "\(count) pictures compressed") { report in
                report.add(try PictureCompression(count: count, pairs: repetition.pairs).run(workplace))
            }
            report.attempt("P13", "a video of \(seconds) s converted") { report in
                report.add(try VideoConversion(seconds: seconds, pairs: repetition.pairs).run(workplace))
            }
        }
    }
}

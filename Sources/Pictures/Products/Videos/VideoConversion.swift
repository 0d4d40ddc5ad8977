import Glibc
import LinuxSystem
import MediaTools
import Processes

/// One run of ffmpeg, under limits and confined.
struct VideoConversion {
    let plan: VideoPlan
    let container: VideoContainer
    let input: ProductInput
    let output: SharedDescriptor
    /// In seconds, if known.
    let duration: Double?
    /// Of a frame of the video.
    let pixels: Int
    /// Where the video was taken (ISO 6709).
    let place: String?

    /// Limits of ffmpeg while it lists its filters.
    static let listing = ProcessLimits(processorSeconds: 30, addressSpace: 1 << 30, fileSize: 0, niceness: 19)

    /// More threads save little time and need more memory.
    private static let threads = max(1, min(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 4))

    /// Converts the video.
    ///
    /// - Returns: false if the result would not be smaller than the video.
    func run(_ program: String, progress: @escaping @Sendable (Double) -> Void) async throws(ProductFailure) -> Bool {
        let reader = ProgressReader(duration: duration ?? 0, report: progress)
        do throws(ToolFailure) {
            _ = try await ToolRun.run(
                program, VideoArguments.all(for: plan, in: container, threads: Self.threads, place: place),
                input: input.file, files: [output], limits: limits,
                confinement: Confinement(program: program, readable: [input.file], writable: [output]), within: time,
                onOutput: { reader.read($0) })
            return true
        } catch {
            if case .ended(.killed(SIGXFSZ), _) = error { return false }
            if case .ended(_, let line) = error, line.contains("Unknown encoder") {
                throw .missing("videos can't be converted: this ffmpeg lacks an encoder: \(line)")
            }
            // Which line of ffmpeg's output tells of a full disk depends on when it was noticed.
            if case .ended = error, output.isOutOfSpace { throw .noSpace }
            throw ProductFailure(VideoFailure(error, of: program))
        }
    }

    /// Elapsed time: ten minutes, 40 times the length of the video, and a second for each 100 kB, because the length may be
    /// unknown or wrong. A small machine needs ten times the length of a 4K video.
    private var time: Duration {
        .seconds(600 + 40 * min(duration ?? 0, 86_400) + Double(input.size) / 100_000)
    }

    private var limits: ProcessLimits {
        // A new index in front of copied tracks may be a little longer.
        let longest = plan == .remux ? input.size + input.size / 20 + (1 << 20) : input.size
        return ProcessLimits(
            processorSeconds: UInt64(time.components.seconds) * UInt64(Self.threads),
            // 4K of 10 bits takes 1.3 GiB with four threads. Decoders keep up to 20 frames of up to 6 bytes a pixel.
            addressSpace: 2 << 30 + 150 * UInt64(max(0, min(pixels, VideoTools.maximumPixels))), fileSize: longest,
            niceness: 19)
    }
}

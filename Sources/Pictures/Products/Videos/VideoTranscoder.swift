import Glibc
package import LinuxSystem
package import MediaTools
import Processes
import UploadCore

/// Encodes videos anew as MP4 files of H.264 and AAC, with ffmpeg.
///
/// The result keeps date, camera and place, one track of pictures and one of sound. It is upright, in standard range, with
/// its index in front. A result that is not smaller than the video does not count; nor does one that is shorter or
/// follows an error of the decoder.
package struct VideoTranscoder: ProductStep {
    private let tools: VideoTools
    private let height: Int
    private let quality: Int

    /// Creates the step of a recipe; see `Recipe.Conversion.mp4`.
    package init(tools: VideoTools, height: Int, quality: Int) {
        self.tools = tools
        self.height = height
        self.quality = quality
    }

    package var missing: String? {
        let names = [("ffprobe", tools.prober), ("ffmpeg", tools.converter)].filter { $0.1 == nil }.map(\.0)
        return names.first.map { "videos can't be converted: \($0) is not in the PATH; install ffmpeg" }
    }

    package func perform(
        on input: ProductInput, into output: SharedDescriptor, scratch: String,
        progress: @escaping @Sendable (Double) -> Void
    ) async throws(ProductFailure) -> StepOutcome {
        guard let container = VideoContainer(input.type) else { return .unchanged }
        if let missing { throw .missing(missing) }
        let report = try await report(of: input)
        let boxes = try container == .mov ? MovieBoxes(FilePart(file: input.file, range: 0..<input.size)) : nil
        let plan = try VideoPlan(
            report, in: container, lines: height, quality: quality, hasIndexInFront: boxes?.hasIndexInFront ?? true,
            obstacle: boxes?.obstacle)
        if plan == .leave { return .unchanged }
        if case .transcode(let transcoding) = plan, transcoding.highDynamicRange != nil {
            try await requireToneMapping()
        }
        let duration = report.duration(of: report.main(of: "video"))
        let conversion = VideoConversion(
            plan: plan, container: container, input: input, output: output, duration: duration,
            pixels: report.main(of: "video").map { ($0.width ?? 0) * ($0.height ?? 0) } ?? 0, place: report.place)
        guard try await conversion.run(tools.converter ?? "", progress: progress) else { return .unchanged }
        let type = MediaType(kind: .video, mime: "video/mp4")
        try await check(output, type, against: plan, duration: duration)
        if plan != .remux, try output.productSize >= input.size { return .unchanged }
        return .made(type)
    }

    private func report(of input: ProductInput) async throws(ProductFailure) -> ProbeReport {
        do throws(VideoFailure) {
            return try await tools.report(of: input.file, type: input.type)
        } catch {
            throw ProductFailure(error)
        }
    }

    /// ffmpeg may be built without the filters for high dynamic range.
    private func requireToneMapping() async throws(ProductFailure) {
        let filters: [UInt8]
        do {
            let nothing = try SharedDescriptor(opening: "/dev/null", flags: O_RDONLY)
            let program = tools.converter ?? ""
            filters = try await ToolRun.run(
                program, ["-hide_banner", "-filters"], input: nothing, limits: VideoConversion.listing,
                confinement: Confinement(program: program), within: .seconds(60), longestOutput: 1 << 20)
        } catch let error as ToolFailure {
            throw ProductFailure(VideoFailure(error, of: "ffmpeg"))
        } catch {
            throw .failed("/dev/null: \(error)")
        }
        let words = Set(String(decoding: filters, as: UTF8.self).split { $0 == " " || $0 == "\n" })
        if !words.isSuperset(of: ["zscale", "tonemap"]) {
            throw .refused("high dynamic range can't be converted: this ffmpeg has no filters zscale and tonemap")
        }
    }

    /// ffmpeg also succeeds with half a video.
    private func check(
        _ output: SharedDescriptor, _ type: MediaType, against plan: VideoPlan, duration: Double?
    ) async throws(ProductFailure) {
        let facts: VideoFacts
        do throws(VideoFailure) {
            facts = try await tools.facts(of: output, type: type)
        } catch {
            throw ProductFailure(error)
        }
        if case .transcode(let transcoding) = plan {
            guard facts.width == transcoding.width, facts.height == transcoding.height else {
                throw .refused("ffmpeg made a video of another size")
            }
        }
        if let duration {
            guard let made = facts.duration, made >= 0.97 * duration - 1 else {
                throw .refused("only a part of the video could be converted")
            }
        }
    }
}

extension ProbeReport {
    /// Where the video was taken (ISO 6709, annex H), if the tag holds nothing else.
    fileprivate var place: String? {
        let tags = format?.tags
        guard let text = tags?["com.apple.quicktime.location.ISO6709"] ?? tags?["location"], text.count <= 50 else {
            return nil
        }
        return text.allSatisfy { $0.isASCII && ($0.isNumber || "+-./".contains($0)) } ? text : nil
    }
}

extension ProductFailure {
    init(_ failure: VideoFailure) {
        switch failure {
        case .refused(let reason): self = Self.isAboutSpace(reason) ? .noSpace : .refused(reason)
        case .missing(let reason): self = .missing(reason)
        case .failed(let reason): self = Self.isAboutSpace(reason) ? .noSpace : .failed(reason)
        case .cancelled: self = .cancelled
        }
    }
}

import MediaTools

/// How a video is converted, decided from what ffprobe reports.
enum VideoPlan: Equatable {
    /// Not at all.
    case leave
    /// Pictures and sound are copied into an MP4 file with its index in front.
    case remux
    /// Pictures and sound are encoded anew.
    case transcode(Transcoding)

    /// Containers whose pictures and sound can be copied: their times are good enough for an MP4 file.
    private static let copied: Set<VideoContainer> = [.mov, .matroska, .mpegts]

    /// Decides.
    ///
    /// - Parameters:
    ///   - lines: Maximum length of the shorter side, upright.
    ///   - quality: The constant rate factor of x264.
    ///   - hasIndexInFront: Whether an MP4 file can be played while it arrives.
    ///   - obstacle: What the container holds that no conversion keeps.
    /// - Throws: ``ProductFailure/refused(_:)`` if no conversion would show the same.
    init(
        _ report: ProbeReport, in container: VideoContainer, lines: Int, quality: Int, hasIndexInFront: Bool,
        obstacle: String? = nil
    ) throws(ProductFailure) {
        guard let video = report.main(of: "video"), let index = video.index, let size = video.shownSize else {
            self = .leave
            return
        }
        if video.sideDataList?.contains(where: { $0.dolbyVisionBase == 0 }) ?? false {
            throw .refused("the colours of this kind of Dolby Vision can't be converted")
        }
        let sound = report.main(of: "audio")
        let isSmall =
            video.codec == "h264" && ["yuv420p", "yuvj420p"].contains(video.pixelFormat)
            && video.highDynamicRange == nil
            && min(size.width, size.height) <= lines && video.isThrifty(size, report, quality: quality)
            && report.all("audio").allSatisfy { $0.codec == "aac" }
        if isSmall, container == .mov, hasIndexInFront {
            self = .leave
            return
        }
        if let obstacle = report.obstacle ?? obstacle {
            throw .refused("the video holds what a conversion would lose: \(obstacle)")
        }
        if isSmall, Self.copied.contains(container) {
            self = .remux
            return
        }
        let scaled = Self.scaled(size, lines: lines)
        self = .transcode(
            Transcoding(
                video: index, width: scaled.width, height: scaled.height,
                isInterlaced: ["tt", "bb", "tb", "bt"].contains(video.fieldOrder),
                untagged: video.isRGB ? .rgb : video.isUntaggedHD ? .highDefinition : nil,
                highDynamicRange: video.highDynamicRange, sound: sound.flatMap { Transcoding.Sound($0, in: container) },
                quality: quality))
    }

    /// H.264 with 4:2:0 needs even sides.
    private static func scaled(_ size: (width: Int, height: Int), lines: Int) -> (width: Int, height: Int) {
        let factor = min(1, Double(lines) / Double(min(size.width, size.height)))
        func even(_ side: Int) -> Int {
            // A side that keeps its length loses a line rather than gaining one.
            let half = (Double(side) * factor / 2).rounded(factor == 1 ? .down : .toNearestOrAwayFromZero)
            return max(2, 2 * Int(half))
        }
        func short(_ side: Int) -> Int { min(even(side), max(2, lines & ~1)) }
        return size.width < size.height
            ? (short(size.width), even(size.height)) : (even(size.width), short(size.height))
    }
}

/// What ffmpeg encodes, and how.
struct Transcoding: Equatable {
    /// A track of sound.
    struct Sound: Equatable {
        /// The index of the track.
        var index: Int
        /// Whether it is copied and not encoded anew.
        var isCopied: Bool
        /// Channels of the result.
        var channels: Int

        /// Sound of at most this many bits a second is copied if it is AAC already.
        private static let mostBitsCopied = 200_000

        init(index: Int, isCopied: Bool, channels: Int) {
            self.index = index
            self.isCopied = isCopied
            self.channels = channels
        }

        /// Decides for a track; nil if the report has no index.
        init?(_ stream: ProbeReport.Stream, in container: VideoContainer) {
            guard let index = stream.index else { return nil }
            let bits = stream.bitRate.flatMap { Int($0) } ?? 0
            self.init(
                index: index,
                isCopied: stream.codec == "aac" && (stream.channels ?? 2) <= 2 && bits <= Self.mostBitsCopied
                    && [.mov, .matroska].contains(container),
                channels: min(2, stream.channels ?? 2))
        }
    }

    /// Pictures whose colours the result must name: it is smaller, and players guess by the size.
    enum Untagged {
        /// Red, green and blue.
        case rgb
        /// In BT.709, without saying so.
        case highDefinition
    }

    /// The index of the track of pictures.
    var video: Int
    /// Of the result, upright, even.
    var width: Int
    /// Of the result, upright, even.
    var height: Int
    var isInterlaced: Bool
    /// nil: the pictures name their colours, or are of standard definition.
    var untagged: Untagged?
    /// nil: standard range.
    var highDynamicRange: HighDynamicRange?
    /// nil: no sound.
    var sound: Sound?
    /// The constant rate factor of x264.
    var quality: Int
}

extension ProbeReport {
    /// All tracks of a kind, without cover pictures.
    fileprivate func all(_ kind: String) -> [Stream] {
        (streams ?? []).filter { $0.kind == kind && $0.disposition?["attached_pic"] != 1 }
    }

    /// The track that a player chooses: the first one marked as default, else the first.
    func main(of kind: String) -> Stream? {
        all(kind).first { $0.disposition?["default"] == 1 } ?? all(kind).first
    }
}

extension ProbeReport.Stream {
    /// Whether the pictures take about as few bits as they would after conversion: 0.2 bits for a pixel of a frame at a
    /// rate factor of 23, twice that for each 6 below (x264's documentation of CRF). Below 250 kbit/s there is
    /// nothing to gain.
    fileprivate func isThrifty(_ size: (width: Int, height: Int), _ report: ProbeReport, quality: Int) -> Bool {
        guard let bits = (bitRate ?? report.format?.bitRate).flatMap({ Double($0) }) else { return false }
        let pixels = Double(size.width * size.height) * framesPerSecond
        var budget = 0.2 * pixels
        for _ in 0..<max(0, 23 - quality) { budget *= 1.1225 }
        for _ in 0..<max(0, quality - 23) { budget /= 1.1225 }
        return bits <= max(250_000, budget)
    }

    private var framesPerSecond: Double {
        let parts = (frameRate ?? "").split(separator: "/").compactMap { Double($0) }
        guard parts.count == 2, parts[1] > 0, parts[0] > 0 else { return 30 }
        return min(60, parts[0] / parts[1])
    }
}

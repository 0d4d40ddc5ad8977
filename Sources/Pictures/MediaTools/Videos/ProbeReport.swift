import FoundationEssentials

/// The requested part of ffprobe's output (man 1 ffprobe, json writer). Numbers that may be unknown are texts there.
package struct ProbeReport: Decodable, Sendable {
    /// A track.
    package struct Stream: Decodable, Sendable {
        package var index: Int?
        /// "video", "audio" and others.
        package var kind: String?
        package var codec: String?
        /// The code of the container for the codec: "avc1", "tmcd".
        package var tag: String?
        package var pixelFormat: String?
        package var width: Int?
        package var height: Int?
        /// "4:3"; "0:1" and "N/A" if unknown.
        var sampleAspectRatio: String?
        /// "progressive"; "tt", "bb", "tb" and "bt" if interlaced.
        package var fieldOrder: String?
        /// How many frames a decoder holds back, as they are shown in another order than they are coded.
        package var reorderedFrames: Int?
        /// "bt709", "smpte2084" and others.
        package var colourTransfer: String?
        /// How red, green and blue become brightness and colour: "bt709", "unknown" and others.
        package var colourSpace: String?
        /// Frames in a second: "30000/1001"; "0/0" if unknown.
        package var frameRate: String?
        package var bitRate: String?
        package var channels: Int?
        /// How the decoder of sound gives its samples: "s16", "s32p", "fltp" and others.
        package var sampleFormat: String?
        /// The bits of a sample that count, where the decoder's samples are wider: "24".
        package var bitsOfSample: String?
        package var duration: String?
        package var disposition: [String: Int]?
        package var tags: Tags?
        package var sideDataList: [SideData]?

        enum CodingKeys: String, CodingKey {
            case index, width, height, channels, duration, disposition, tags
            case kind = "codec_type"
            case codec = "codec_name"
            case tag = "codec_tag_string"
            case pixelFormat = "pix_fmt"
            case sampleAspectRatio = "sample_aspect_ratio"
            case fieldOrder = "field_order"
            case reorderedFrames = "has_b_frames"
            case colourTransfer = "color_transfer"
            case colourSpace = "color_space"
            case frameRate = "avg_frame_rate"
            case bitRate = "bit_rate"
            case sampleFormat = "sample_fmt"
            case bitsOfSample = "bits_per_raw_sample"
            case sideDataList = "side_data_list"
        }
    }

    /// Data beside the pictures of a track.
    package struct SideData: Decodable, Sendable {
        /// "Display Matrix", "Spherical Mapping", "Stereo 3D" and others.
        package var type: String?
        /// Of "Stereo 3D": how the pictures for both eyes lie in one, or "2D".
        package var detail: String?
        /// Degrees. ffprobe 4 and later versions print the same.
        package var rotation: Double?
        /// Of Dolby Vision: the format of the pictures for players without it; 0 if there is none.
        package var dolbyVisionBase: Int?

        enum CodingKeys: String, CodingKey {
            case rotation
            case type = "side_data_type"
            case detail = "type"
            case dolbyVisionBase = "dv_bl_signal_compatibility_id"
        }
    }

    /// The container.
    package struct Format: Decodable, Sendable {
        package var duration: String?
        package var bitRate: String?
        package var tags: Tags?

        enum CodingKeys: String, CodingKey {
            case duration, tags
            case bitRate = "bit_rate"
        }
    }

    /// Texts by name. Matroska's are in capitals after a copy, so the case of a name does not count.
    package struct Tags: Decodable, Sendable {
        private let values: [String: String]

        package init(from decoder: any Decoder) throws {
            let texts = try decoder.singleValueContainer().decode([String: String].self)
            values = Dictionary(texts.map { ($0.lowercased(), $1) }) { first, _ in first }
        }

        package subscript(name: String) -> String? { values[name.lowercased()] }
    }

    /// A decoded picture. Some coders tell only there how the pictures for both eyes lie in one.
    package struct Frame: Decodable, Sendable {
        package var sideDataList: [SideData]?

        enum CodingKeys: String, CodingKey {
            case sideDataList = "side_data_list"
        }
    }

    package var streams: [Stream]?
    package var format: Format?
    /// The first pictures.
    package var frames: [Frame]?

    /// Longer durations count as invalid: a year.
    static let longestDuration = 366.0 * 86_400
    /// Longer sides count as invalid.
    static let longestSide = 65_535

    /// Parses a report.
    ///
    /// - Throws: ``VideoFailure/refused(_:)`` if the output is no report.
    package init(_ output: [UInt8]) throws(VideoFailure) {
        guard let report = try? JSONDecoder().decode(Self.self, from: Data(output)) else {
            throw .refused("ffprobe printed no valid report")
        }
        self = report
    }

    /// Parses a report about one stream.
    ///
    /// - Throws: ``VideoFailure/refused(_:)`` if the output is no report.
    static func facts(in output: [UInt8]) throws(VideoFailure) -> VideoFacts {
        let report = try ProbeReport(output)
        let stream = report.streams?.first
        let size = stream?.shownSize
        return VideoFacts(width: size?.width, height: size?.height, duration: report.duration(of: stream))
    }

    /// Duration in seconds, by the container if it says so, otherwise by the stream; nil if implausible.
    package func duration(of stream: Stream?) -> Double? {
        [format?.duration, stream?.duration].lazy.compactMap { $0.flatMap(Self.duration) }.first
    }

    private static func duration(_ text: String) -> Double? {
        guard let seconds = Double(text), seconds > 0, seconds <= longestDuration else { return nil }
        return seconds
    }

}

/// Transfer functions of high dynamic range, as ffmpeg names them.
package enum HighDynamicRange: String, Sendable {
    /// Perceptual quantizer: HDR10, Dolby Vision.
    case smpte2084
    /// Hybrid log-gamma.
    case hlg = "arib-std-b67"
}

extension ProbeReport.Stream {
    /// The transfer function; nil for standard range.
    package var highDynamicRange: HighDynamicRange? { colourTransfer.flatMap(HighDynamicRange.init) }

    /// The size in pixels as shown: upright, with square pixels; nil if implausible.
    package var shownSize: (width: Int, height: Int)? {
        let sides = 1...ProbeReport.longestSide
        guard let width, let height, sides.contains(width), sides.contains(height) else { return nil }
        let shown = (Double(width) * pixelShape).rounded()
        guard shown >= 1, shown <= Double(ProbeReport.longestSide) else { return nil }
        return isOnItsSide ? (height, Int(shown)) : (Int(shown), height)
    }

    /// Width of a pixel divided by its height.
    private var pixelShape: Double {
        let parts = (sampleAspectRatio ?? "").split(separator: ":").map { Double($0) ?? 0 }
        guard parts.count == 2, parts[0] > 0, parts[1] > 0 else { return 1 }
        return parts[0] / parts[1]
    }

    private var isOnItsSide: Bool {
        let matrix = sideDataList?.lazy.compactMap(\.rotation).first
        let degrees = matrix ?? tags?["rotate"].flatMap(Double.init) ?? 0
        guard degrees.isFinite else { return false }
        return abs(abs(degrees.truncatingRemainder(dividingBy: 180)) - 90) < 1
    }
}

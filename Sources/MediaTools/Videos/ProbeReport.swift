import FoundationEssentials

/// The requested part of ffprobe's output (man 1 ffprobe, json writer).
struct ProbeReport: Decodable {
    private struct Stream: Decodable {
        var width: Int?
        var height: Int?
        /// "4:3"; "0:1" and "N/A" if unknown.
        var sampleAspectRatio: String?
        var duration: String?
        var tags: [String: String]?
        var sideDataList: [SideData]?

        enum CodingKeys: String, CodingKey {
            case width, height, duration, tags
            case sampleAspectRatio = "sample_aspect_ratio"
            case sideDataList = "side_data_list"
        }
    }

    private struct SideData: Decodable {
        /// Degrees. ffprobe 4 and later versions print the same.
        var rotation: Double?
    }

    private struct Format: Decodable {
        var duration: String?
    }

    private var streams: [Stream]?
    private var format: Format?

    /// Longer durations count as invalid: a year.
    static let longestDuration = 366.0 * 86_400
    /// Longer sides count as invalid.
    static let longestSide = 65_535

    /// Parses a report.
    ///
    /// - Throws: ``VideoFailure/refused(_:)`` if the output is no report.
    static func facts(in output: [UInt8]) throws(VideoFailure) -> VideoFacts {
        guard let report = try? JSONDecoder().decode(Self.self, from: Data(output)) else {
            throw .refused("ffprobe printed no valid report")
        }
        let stream = report.streams?.first
        let size = stream.flatMap { Self.shownSize(of: $0) }
        let duration = [report.format?.duration, stream?.duration].lazy.compactMap { $0.flatMap(Self.duration) }.first
        return VideoFacts(width: size?.width, height: size?.height, duration: duration)
    }

    private static func duration(_ text: String) -> Double? {
        guard let seconds = Double(text), seconds > 0, seconds <= longestDuration else { return nil }
        return seconds
    }

    private static func shownSize(of stream: Stream) -> (width: Int, height: Int)? {
        let sides = 1...longestSide
        guard let width = stream.width, let height = stream.height, sides.contains(width), sides.contains(height)
        else { return nil }
        let shown = (Double(width) * pixelShape(stream.sampleAspectRatio)).rounded()
        guard shown >= 1, shown <= Double(longestSide) else { return nil }
        return isOnItsSide(stream) ? (height, Int(shown)) : (Int(shown), height)
    }

    /// Width of a pixel divided by its height.
    private static func pixelShape(_ text: String?) -> Double {
        let parts = (text ?? "").split(separator: ":").map { Double($0) ?? 0 }
        guard parts.count == 2, parts[0] > 0, parts[1] > 0 else { return 1 }
        return parts[0] / parts[1]
    }

    private static func isOnItsSide(_ stream: Stream) -> Bool {
        let matrix = stream.sideDataList?.lazy.compactMap(\.rotation).first
        let degrees = matrix ?? stream.tags?["rotate"].flatMap(Double.init) ?? 0
        guard degrees.isFinite else { return false }
        return abs(abs(degrees.truncatingRemainder(dividingBy: 180)) - 90) < 1
    }
}

/// What the agent does to a picture or video before the upload. The result is a *product*, which is uploaded in place of
/// the file's bytes.
public struct Recipe: Hashable, Sendable {
    /// How the content is encoded anew.
    public enum Conversion: Hashable, Sendable {
        /// As a JPEG. `quality` is 1 to 100; a picture with a side over `maximumSide` pixels is made smaller, 0 allows
        /// any size.
        case jpeg(quality: Int, maximumSide: Int)
        /// As an MP4 file of H.264 and AAC, with at most `height` lines (the shorter side of an upright video). `quality`
        /// is the constant rate factor of x264, 0 to 51; lower is better.
        case mp4(height: Int, quality: Int)
    }

    /// How the content is encoded anew; nil keeps its encoding.
    public var conversion: Conversion?
    /// Whether all positions (GPS coordinates) are removed.
    public var stripsLocation: Bool

    /// Creates a recipe.
    public init(conversion: Conversion? = nil, stripsLocation: Bool = false) {
        self.conversion = conversion
        self.stripsLocation = stripsLocation
    }

    /// Whether the recipe changes nothing.
    public var isEmpty: Bool { conversion == nil && !stripsLocation }

    /// The recipe as the sidecar states it, such as `jpeg quality=85,strip location`. Two recipes have the same text
    /// only if they are the same.
    public var text: String {
        var parts: [String] = []
        switch conversion {
        case .jpeg(let quality, let side): parts.append("jpeg quality=\(quality)" + (side > 0 ? " side=\(side)" : ""))
        case .mp4(let height, let quality): parts.append("mp4 height=\(height) crf=\(quality)")
        case nil: break
        }
        if stripsLocation { parts.append("strip location") }
        return parts.joined(separator: ",")
    }
}

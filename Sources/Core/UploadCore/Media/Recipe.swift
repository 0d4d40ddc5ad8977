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

    /// What is removed from the content.
    public enum Removal: Hashable, Sendable {
        /// Positions (GPS coordinates) that devices and programs wrote.
        case positions
        /// All that is not needed to show the picture or video; the date of capture stays if `keepsDates`.
        case metadata(keepsDates: Bool)
    }

    /// How the content is encoded anew; nil keeps its encoding.
    public var conversion: Conversion?
    /// What is removed; nil removes nothing.
    public var removal: Removal?

    /// Creates a recipe.
    public init(conversion: Conversion? = nil, removal: Removal? = nil) {
        self.conversion = conversion
        self.removal = removal
    }

    /// Whether the recipe changes nothing.
    public var isEmpty: Bool { conversion == nil && removal == nil }

    /// The recipe as the sidecar states it, such as `jpeg quality=85,strip location`. Two recipes have the same text
    /// only if they are the same.
    public var text: String {
        var parts: [String] = []
        switch conversion {
        case .jpeg(let quality, let side): parts.append("jpeg quality=\(quality)" + (side > 0 ? " side=\(side)" : ""))
        case .mp4(let height, let quality): parts.append("mp4 height=\(height) crf=\(quality)")
        case nil: break
        }
        switch removal {
        case .positions: parts.append("strip location")
        case .metadata(let keepsDates): parts.append("strip metadata" + (keepsDates ? " keep dates" : ""))
        case nil: break
        }
        return parts.joined(separator: ",")
    }
}

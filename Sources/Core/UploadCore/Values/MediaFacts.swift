/// Facts about a picture or video besides its type; nil if unknown.
public struct MediaFacts: Hashable, Sendable {
    /// The width in pixels, after rotation to upright.
    public var width: Int?
    /// The height in pixels, after rotation to upright.
    public var height: Int?
    /// The length of a video in seconds.
    public var duration: Double?

    /// Creates facts.
    public init(width: Int? = nil, height: Int? = nil, duration: Double? = nil) {
        self.width = width
        self.height = height
        self.duration = duration
    }
}

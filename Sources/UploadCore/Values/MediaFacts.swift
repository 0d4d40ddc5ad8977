/// What is known of a picture or video beside its type; nil where it could not be told.
public struct MediaFacts: Hashable, Sendable {
    /// Width in pixels once it is upright.
    public var width: Int?
    /// Height in pixels once it is upright.
    public var height: Int?
    /// Length of a video in seconds.
    public var duration: Double?

    /// Facts.
    public init(width: Int? = nil, height: Int? = nil, duration: Double? = nil) {
        self.width = width
        self.height = height
        self.duration = duration
    }
}

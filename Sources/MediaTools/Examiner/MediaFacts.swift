/// What is known of a picture or a video beside its bytes; nil: not known.
public struct MediaFacts: Equatable, Sendable {
    /// Width in pixels as it is shown, orientation and shape of pixels applied.
    public var width: Int?
    /// Height in pixels as it is shown.
    public var height: Int?
    /// Seconds, of videos.
    public var duration: Double?

    /// Facts.
    public init(width: Int? = nil, height: Int? = nil, duration: Double? = nil) {
        self.width = width
        self.height = height
        self.duration = duration
    }

    /// Nothing is known.
    public static let unknown = MediaFacts()
}

/// What became of a thumbnail.
public enum ThumbnailOutcome: Equatable, Sendable {
    /// It is there.
    case there
    /// There will be none of this content; for people, why.
    case none(String)
    /// There is none yet, and another time there may be; for people, why.
    case notNow(String)
}

/// What became of a thumbnail.
public enum ThumbnailOutcome: Equatable, Sendable {
    /// It is there.
    case there
    /// There will be none of this content; for people, why.
    case none(String)
    /// There is none yet, and another time there may be; for people, why.
    case notNow(String)
}
